/**
 * Letters as strokes. A machine without fonts can draw them, and a picture looks the same on every one.
 *
 * A glyph is strokes separated by spaces, a stroke is points, a point is two digits: x from 0 to 4, y from 0 (the top of capitals)
 * through 2 (the top of small letters) and 6 (the line they stand on) to 8.
 */
import type { Line, Point } from './drawing.js'

const glyphs: Readonly<Record<string, string>> = {
  ' ': '',
  '!': '0004 0606',
  '"': '0002 2022',
  '#': '1016 3036 0242 0444',
  $: '413010010213334445361605 2026',
  '%': '4006 0010110100 3545463635',
  '&': '4602112031120405162643',
  "'": '0002',
  '(': '20111526',
  ')': '00111506',
  '*': '2125 0244 0442',
  '+': '2125 0343',
  ',': '1617 1708',
  '-': '0333',
  '.': '0606',
  '/': '0640',
  '0': '102031352616050110',
  '1': '011016 0626',
  '2': '01103041420646',
  '3': '01103041423313 334445361605',
  '4': '36300444',
  '5': '400003334445361605',
  '6': '413010010516364544331304',
  '7': '004016',
  '8': '103041423313020110 1304051636454433',
  '9': '4313020110304145361605',
  ':': '0202 0606',
  ';': '1212 1617 1708',
  '<': '320436',
  '=': '0242 0444',
  '>': '023406',
  '?': '01103041422324 2626',
  '@': '34321214344431301001051636',
  A: '0602204246 0444',
  B: '06003041423303 3344453606',
  C: '4130100105163645',
  D: '06003041453606',
  E: '40000646 0333',
  F: '400006 0333',
  G: '41301001051636454323',
  H: '0006 4046 0343',
  I: '0020 1016 0626',
  J: '3035261605',
  K: '0006 4003 1246',
  L: '000646',
  M: '0600234046',
  N: '06004640',
  O: '103041453616050110',
  P: '06003041423303',
  Q: '103041453616050110 2446',
  R: '06003041423303 2346',
  S: '413010010213334445361605',
  T: '0040 2026',
  U: '000516364540',
  V: '002640',
  W: '0016233640',
  X: '0046 4006',
  Y: '002340 2326',
  Z: '00400646',
  '[': '20000626',
  '\\': '0046',
  ']': '00202606',
  '^': '022042',
  _: '0747',
  '`': '0011',
  a: '0212324346 44140505163645',
  b: '0006 0312324345361605',
  c: '43321203051636',
  d: '4046 4332120305163645',
  e: '044443321203051636',
  f: '30201116 0232',
  g: '4247381807 4332120305163645',
  h: '0006 0312324346',
  i: '0000 0206',
  j: '1010 12171808',
  k: '0006 3205 1436',
  l: '00051626',
  m: '0206 03122326 23324346',
  n: '0206 0312324346',
  o: '123243453616050312',
  p: '0208 0312324345361605',
  q: '4248 4332120305163645',
  r: '0206 03122232',
  s: '42321203143445361605',
  t: '10152636 0232',
  u: '020516364542 4246',
  v: '022642',
  w: '0216243642',
  x: '0246 4206',
  y: '0226 421708',
  z: '02420646',
  '{': '20111203141526',
  '|': '0007',
  '}': '00111223141506',
  '~': '04133443',
}

/** For a character that has no glyph. */
const unknown = '0040460600'

interface Glyph {
  readonly strokes: readonly (readonly Point[])[]
  readonly width: number
}

const parsed = new Map<string, Glyph>()

function glyphOf(character: string): Glyph {
  const known = parsed.get(character)
  if (known) return known
  const text = glyphs[character] ?? unknown
  const strokes = text
    .split(' ')
    .filter(stroke => stroke.length >= 4)
    .map(stroke =>
      Array.from({ length: Math.floor(stroke.length / 2) }, (_, i) => ({
        x: Number(stroke[2 * i]),
        y: Number(stroke[2 * i + 1]),
      })),
    )
  const glyph = { strokes, width: Math.max(character === ' ' ? 2 : 0, ...strokes.flat().map(({ x }) => x)) }
  parsed.set(character, glyph)
  return glyph
}

export interface TextOptions {
  readonly x: number
  /** Of the line the letters stand on. */
  readonly y: number
  /** Height of capitals. */
  readonly size: number
  readonly colour: string
  readonly align?: 'start' | 'middle' | 'end'
}

/** A text as lines. */
export function textLines(text: string, { x, y, size, colour, align = 'start' }: TextOptions): Line[] {
  const scale = size / 6
  const shift = { start: 0, middle: -0.5, end: -1 }[align] * textWidth(text, size)
  const lines: Line[] = []
  let left = x + shift
  for (const character of text) {
    const { strokes, width } = glyphOf(character)
    for (const stroke of strokes) {
      const points = stroke.map(point => ({ x: left + point.x * scale, y: y + (point.y - 6) * scale }))
      lines.push({ kind: 'line', points, width: size / 8, colour, opacity: 1 })
    }
    left += (width + gap) * scale
  }
  return lines
}

/** Between letters, in the glyphs' units. */
const gap = 1.7

export function textWidth(text: string, size: number): number {
  const widths = [...text].map(character => glyphOf(character).width + gap)
  return Math.max(0, ((widths.reduce((sum, width) => sum + width, 0) - gap) * size) / 6)
}

/** The text cut to fit into a width, its end kept: what tells names of runs and metrics apart stands there. */
export function fitText(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text
  let cut = text
  while (cut.length > 1 && textWidth(`...${cut}`, size) > width) cut = cut.slice(1)
  return `...${cut}`
}
