/** What all pictures have: a title, names with their colours, panels with axes. */
import { colourOf, palette } from './colours.js'
import { type Line, line, type Point, type Shape, type Text, text } from './drawing.js'
import { fitText, textWidth } from './font.js'
import { tickLabels, ticks } from './ticks.js'

export const ink = palette.ink.light
export const faint = palette.faint.light
export const grid = palette.grid.light

const panel = { width: 420, height: 250, left: 70, right: 62, top: 36, bottom: 44 }
const margin = 14
const titleSize = 15
const nameSize = 11.5
const nameRow = 20
/** Of numbers and names of axes. */
export const labelSize = 10

interface PageOptions {
  readonly title: string
  /** With their colours; a single one says nothing that the title does not. */
  readonly names: readonly string[]
  readonly panels: number
  /** A sentence at the bottom. */
  readonly note?: string | undefined
}

export interface Page {
  readonly width: number
  readonly height: number
  readonly shapes: readonly Shape[]
  /** The place of a panel's numbers. */
  area(index: number): Area
}

export interface Area {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

export function layOut({ title, names, panels, note }: PageOptions): Page {
  // Four are a square.
  const columns = panels === 4 ? 2 : Math.max(1, Math.min(3, panels))
  const width = columns * panel.width + 2 * margin
  const inside = width - 2 * margin
  const legend = names.length > 1 ? legendShapes(names, { top: margin + 26, width }) : { shapes: [], rows: 0 }
  const header = margin + 26 + legend.rows * nameRow
  const bottom = header + Math.ceil(panels / columns) * panel.height
  const height = bottom + (note === undefined ? 0 : 20) + margin
  return {
    width,
    height,
    shapes: [
      { kind: 'box', x: 0, y: 0, width, height, colour: palette.background.light },
      text(fitText(title, titleSize, inside), { x: margin, y: margin + 14, size: titleSize, colour: ink }),
      ...legend.shapes,
      ...(note === undefined
        ? []
        : [text(fitText(note, labelSize, inside), { x: margin, y: bottom + 16, size: labelSize, colour: faint })]),
    ],
    area: index => {
      const [x, y] = [margin + (index % columns) * panel.width, header + Math.floor(index / columns) * panel.height]
      return {
        left: x + panel.left,
        right: x + panel.width - panel.right,
        top: y + panel.top,
        bottom: y + panel.height - panel.bottom,
      }
    },
  }
}

/** Each name behind a piece of its line, in as many rows as they need. */
function legendShapes(
  names: readonly string[],
  { top, width }: { top: number; width: number },
): { shapes: Shape[]; rows: number } {
  const shapes: Shape[] = []
  let [x, row] = [margin, 0]
  for (const [index, name] of names.entries()) {
    const label = fitText(name, nameSize, width - 2 * margin - 28)
    const needed = 28 + textWidth(label, nameSize) + 20
    if (x > margin && x + needed - 20 > width - margin) [x, row] = [margin, row + 1]
    const y = top + row * nameRow + 10
    shapes.push(horizontal(x, x + 20, y - 4, { width: 2.5, colour: colourOf(index) }))
    shapes.push(text(label, { x: x + 28, y, size: nameSize, colour: ink }))
    x += needed
  }
  return { shapes, rows: row + 1 }
}

/** Title over a panel, and the name of its vertical axis. */
export function panelTitle(area: Area, title: string, axis: string): Text[] {
  const { left, right, top, bottom } = area
  const height = bottom - top
  return [
    text(fitText(title, 12, right + panel.right - left), { x: left, y: top - 14, size: 12, colour: ink }),
    text(fitText(axis, labelSize, height), {
      x: left - panel.left + 10,
      y: top + height / 2,
      size: labelSize,
      colour: faint,
      align: 'middle',
      upwards: true,
    }),
  ]
}

/** Lines of the grid, each with its number. */
export function gridShapes(
  { left, right }: Area,
  range: { readonly low: number; readonly high: number },
  place: (value: number) => number,
  show?: (value: number) => string,
): Shape[] {
  const values = ticks(range.low, range.high, 5)
  const labels = show ? values.map(show) : tickLabels(values)
  return values.flatMap((value, i) => {
    const y = place(value)
    const label = fitText(labels[i]!, labelSize, panel.left - 22)
    return [
      horizontal(left, right, y, { width: 1, colour: grid }),
      text(label, { x: left - 6, y: y + 3.5, size: labelSize, colour: faint, align: 'end' }),
    ]
  })
}

/** A dashed line over the whole panel, for a value to compare with. */
export function levelLine({ left, right }: Pick<Area, 'left' | 'right'>, y: number): Line {
  return horizontal(left, right, y, { width: 1.2, colour: faint, dash: [5, 4] })
}

export function horizontal(
  from: number,
  to: number,
  y: number,
  style: Omit<Line, 'kind' | 'points' | 'opacity'>,
): Line {
  const ends: Point[] = [
    { x: from, y },
    { x: to, y },
  ]
  return line(ends, { opacity: 1, ...style })
}
