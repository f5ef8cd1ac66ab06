/** Numbers of things side by side: a panel for each kind of number, a colour for each thing. */
import { shortText } from '../progress/index.js'
import { colourOf } from './colours.js'
import { type Box, type Drawing, line, type Shape, text } from './drawing.js'
import { fitText, textWidth } from './font.js'
import { type Area, faint, gridShapes, horizontal, ink, labelSize, layOut, levelLine, panelTitle } from './page.js'

export interface Bar {
  readonly value: number
  /** Drawn over the bar. */
  readonly interval?: { readonly low: number; readonly high: number } | undefined
}

interface BarGroup {
  readonly label: string
  /** One for each of `names`; undefined where there is no number. */
  readonly bars: readonly (Bar | undefined)[]
  /** A dashed line at a value to compare with, such as 0.5 for a win rate. */
  readonly level?: number | undefined
}

export interface BarPanel {
  readonly title: string
  /** Name of the vertical axis. */
  readonly axis: string
  readonly groups: readonly BarGroup[]
}

interface BarChartOptions {
  readonly title: string
  readonly names: readonly string[]
  readonly panels: readonly BarPanel[]
}

export function barChart({ title, names, panels }: BarChartOptions): Drawing {
  const page = layOut({ title, names, panels: panels.length })
  const drawn = panels.flatMap((one, index) => panelShapes(one, page.area(index)))
  const described = `${title}: ${panels.map(one => one.title).join(', ')}`
  return { ...page, title: described, shapes: [...page.shapes, ...drawn] }
}

function panelShapes({ title, axis, groups }: BarPanel, area: Area): Shape[] {
  const { left, right, top, bottom } = area
  // A bar stands on 0, whatever the numbers are.
  const ends = groups
    .flatMap(({ bars, level = 0 }) => [level, ...bars.flatMap(bar => (bar ? endsOf(bar) : []))])
    .filter(Number.isFinite)
  const low = Math.min(0, ...ends)
  const high = Math.max(0, ...ends)
  // Room for the numbers over the bars.
  const spare = (high - low || 1) * 0.1
  const [from, to] = [low < 0 ? low - spare : 0, high > 0 || low === high ? high + spare : 0]
  const place = (value: number): number => bottom - ((value - from) / (to - from)) * (bottom - top)
  const shapes: Shape[] = [...panelTitle(area, title, axis), ...gridShapes(area, { low: from, high: to }, place)]
  shapes.push(horizontal(left, right, place(0), { width: 1, colour: faint }))
  const slot = (right - left) / Math.max(1, groups.length)
  for (const [g, { label, bars, level }] of groups.entries()) {
    const start = left + g * slot
    const width = Math.min(40, (slot * 0.8) / Math.max(1, bars.length))
    const first = start + slot / 2 - (width * bars.length) / 2
    for (const [b, bar] of bars.entries())
      if (bar && Number.isFinite(bar.value))
        shapes.push(...barShapes(bar, { x: first + b * width, width, index: b, place }))
    if (level !== undefined) shapes.push(levelLine({ left: start + 2, right: start + slot - 2 }, place(level)))
    const middle = { x: start + slot / 2, y: bottom + 17, size: labelSize, colour: faint, align: 'middle' } as const
    shapes.push(text(fitText(label, labelSize, slot - 4), middle))
  }
  return shapes
}

const endsOf = ({ value, interval }: Bar): number[] => [value, ...(interval ? [interval.low, interval.high] : [])]

function barShapes(
  { value, interval }: Bar,
  at: { x: number; width: number; index: number; place: (value: number) => number },
): Shape[] {
  const { x, width, index, place } = at
  const [y, zero] = [place(value), place(0)]
  const middle = x + width / 2
  const box: Box = {
    kind: 'box',
    x: x + 1,
    y: Math.min(y, zero),
    width: Math.max(1, width - 2),
    height: Math.abs(zero - y),
    colour: colourOf(index),
  }
  const whisker = interval && [
    { x: middle, y: place(interval.low) },
    { x: middle, y: place(interval.high) },
  ]
  const over = Math.min(y, zero, ...(whisker ?? []).map(end => end.y)) - 4
  const label = shortText(value)
  // Beside its neighbours, a number that is wider than its bar would run into theirs.
  const fits = textWidth(label, labelSize) <= width + 4
  return [
    box,
    ...(whisker ? [line(whisker, { width: 1.4, colour: ink, opacity: 1 })] : []),
    ...(fits ? [text(label, { x: middle, y: over, size: labelSize, colour: ink, align: 'middle' })] : []),
  ]
}
