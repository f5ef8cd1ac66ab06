/**
 * The font of pictures. A PNG file has its letters drawn, so that a machine without fonts makes the same picture. An SVG file names
 * fonts of the reader's system, which are narrower than this one: a text that fits here fits there.
 */
import type { Point, Text } from './drawing.js'
import { glyphs } from './glyphs.js'

const em = 1000
/** For a character that has no glyph: a box. */
const unknown = '600M50 -177L50 705L550 705L550 -177M106 -121L494 -121L494 649L106 649'

export const fontFamily = `system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif`

/** How far a character moves on, and its polygons. */
interface Glyph {
  readonly advance: number
  readonly contours: readonly (readonly Point[])[]
}

const parsed = new Map<string, Glyph>()

function glyphOf(character: string): Glyph {
  const known = parsed.get(character)
  if (known) return known
  const [advance = '', ...moves] = (glyphs[character] ?? unknown).split(/(?=[MLQ])/)
  const glyph = { advance: Number(advance), contours: contours(moves) }
  parsed.set(character, glyph)
  return glyph
}

export function textWidth(text: string, size: number): number {
  return ([...text].reduce((sum, character) => sum + glyphOf(character).advance, 0) * size) / em
}

/** The text cut to fit into a width, its end kept: what tells names of runs and metrics apart stands there. */
export function fitText(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text
  const cut = [...text]
  while (cut.length > 1 && textWidth(`...${cut.join('')}`, size) > width) cut.shift()
  return `...${cut.join('')}`
}

/** The polygons of a text, to be filled. */
export function textOutline({ text, x, y, size, align, upwards }: Text): Point[][] {
  const scale = size / em
  let along = { start: 0, middle: -0.5, end: -1 }[align] * textWidth(text, size)
  const polygons: Point[][] = []
  for (const character of text) {
    const { advance, contours } = glyphOf(character)
    const start = along
    const place = (point: Point): Point => {
      const [right, up] = [start + point.x * scale, point.y * scale]
      return upwards ? { x: x - up, y: y - right } : { x: x + right, y: y - up }
    }
    for (const contour of contours) polygons.push(contour.map(place))
    along += advance * scale
  }
  return polygons
}

/** Curves become a few straight pieces. */
function contours(moves: readonly string[]): Point[][] {
  const found: Point[][] = []
  for (const move of moves) {
    const [a = 0, b = 0, c = 0, d = 0] = move.slice(1).split(' ').map(Number)
    const last = found.at(-1)
    if (move.startsWith('M') || !last) found.push([{ x: a, y: b }])
    else if (move.startsWith('L')) last.push({ x: a, y: b })
    else last.push(...curve(last.at(-1)!, { x: a, y: b }, { x: c, y: d }))
  }
  return found
}

const pieces = 5

function curve(from: Point, control: Point, to: Point): Point[] {
  return Array.from({ length: pieces }, (_, i) => {
    const t = (i + 1) / pieces
    const mix = (a: number, b: number, c: number): number => (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * c
    return { x: mix(from.x, control.x, to.x), y: mix(from.y, control.y, to.y) }
  })
}
