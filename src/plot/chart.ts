/** Curves of runs as a drawing: a panel for each metric, a colour for each run, the trend over the numbers, the last value at the end. */
import { shortText } from '../progress/index.js'
import { colourOf } from './colours.js'
import { type Dot, type Drawing, line, type Point, type Shape, text } from './drawing.js'
import { fitText } from './font.js'
import { type Area, faint, gridShapes, horizontal, labelSize, layOut, levelLine, panelTitle } from './page.js'
import { smooth, stretches, thin } from './series.js'
import { tickLabels, ticks } from './ticks.js'

export interface ChartRun {
  readonly name: string
  /** By metric, ascending by step. */
  readonly metrics: ReadonlyMap<string, readonly { readonly step: number; readonly value: number }[]>
}

export interface ChartPanel {
  /** Also its title. */
  readonly metric: string
  /** Name of the vertical axis: what is measured, or its unit. */
  readonly axis: string
  /** A value in a few characters. Default: a few digits. */
  readonly show?: ((value: number) => string) | undefined
  /** A dashed line at a value to compare with, such as 0.5 for a win rate. */
  readonly level?: number | undefined
}

interface ChartOptions {
  readonly title: string
  /** Name of the horizontal axis. */
  readonly across: string
  readonly runs: readonly ChartRun[]
  readonly panels: readonly ChartPanel[]
  /** A sentence at the bottom. */
  readonly note?: string | undefined
}

export function chart({ title, across, runs, panels, note }: ChartOptions): Drawing {
  const page = layOut({ title, names: runs.map(({ name }) => name), panels: panels.length, note })
  const drawn = panels.flatMap((panel, index) => panelShapes(panel, across, runs, page.area(index)))
  const names = runs.map(({ name }) => name).join(', ')
  const described = `${title}: ${panels.map(({ metric }) => metric).join(', ')} of ${names}`
  return { ...page, title: described, shapes: [...page.shapes, ...drawn] }
}

function panelShapes(panel: ChartPanel, across: string, runs: readonly ChartRun[], area: Area): Shape[] {
  const { metric, axis, show = shortText, level } = panel
  const { left, right, top, bottom } = area
  const curves = runs.map(run =>
    (run.metrics.get(metric) ?? []).map(({ step, value }) => ({ x: step, y: drawable(value) })),
  )
  const all = curves.flat().filter(({ y }) => Number.isFinite(y))
  const shapes: Shape[] = panelTitle(area, metric, axis)
  const middle = (left + right) / 2
  shapes.push(text(across, { x: middle, y: bottom + 32, size: labelSize, colour: faint, align: 'middle' }))
  if (all.length === 0) {
    const where = { x: middle, y: (top + bottom) / 2, size: labelSize, colour: faint, align: 'middle' } as const
    return [...shapes, text('no numbers', where)]
  }
  const steps = range(all.map(({ x }) => x))
  const xs = spaced(steps, 0)
  const ys = spaced(range([...all.map(({ y }) => y), ...(level === undefined ? [] : [level])]), 0.06)
  const along = (x: number): number => left + ((x - xs.low) / (xs.high - xs.low)) * (right - left)
  const up = (y: number): number => bottom - ((y - ys.low) / (ys.high - ys.low)) * (bottom - top)
  const place = ({ x, y }: Point): Point => ({ x: along(x), y: up(y) })
  shapes.push(...gridShapes(area, ys, up, panel.show))
  const whole = ticks(xs.low, xs.high, 5).filter(x => Number.isInteger(x) && x >= steps.low && x <= steps.high)
  const labels = tickLabels(whole)
  for (const [i, value] of whole.entries()) {
    const x = along(value)
    const ends = [
      { x, y: bottom },
      { x, y: bottom + 4 },
    ]
    shapes.push(line(ends, { width: 1, colour: faint, opacity: 1 }))
    shapes.push(text(labels[i]!, { x, y: bottom + 17, size: labelSize, colour: faint, align: 'middle' }))
  }
  shapes.push(horizontal(left, right, bottom, { width: 1, colour: faint }))
  if (level !== undefined) shapes.push(levelLine(area, up(level)))
  const ends: End[] = []
  for (const [index, curve] of curves.entries()) {
    const colour = colourOf(index)
    shapes.push(...curveShapes(curve, { colour, columns: right - left, place }))
    const last = curve.findLast(({ y }) => Number.isFinite(y))
    if (last) ends.push({ label: show(last.y), colour, ...place(last) })
  }
  return [...shapes, ...endShapes(ends, area)]
}

/** A curve of at most so many points has a mark on each. */
const markedUpTo = 30

function curveShapes(
  curve: readonly Point[],
  { colour, columns, place }: { colour: string; columns: number; place: (point: Point) => Point },
): Shape[] {
  const trend = smooth(curve)
  const draw = (points: readonly Point[], width: number, opacity: number): Shape[] =>
    stretches(points).flatMap(part => {
      const shown = thin(part, columns).map(place)
      return shown.length > 1 ? [line(shown, { width, colour, opacity })] : []
    })
  const parts = stretches(curve)
  const sparse = curve.length <= markedUpTo
  // A point between two gaps has no line.
  const marked = sparse ? parts.flat() : parts.flatMap(part => (part.length === 1 ? part : []))
  const opacity = trend ? 0.35 : 1
  const dots = marked.map((point): Dot => ({ kind: 'dot', ...place(point), radius: 2.6, colour, opacity }))
  return trend ? [...draw(curve, 1, 0.35), ...dots, ...draw(trend, 2, 1)] : [...draw(curve, 1.8, 1), ...dots]
}

/** The last value of a curve: where it is, and its words. */
interface End extends Point {
  readonly label: string
  readonly colour: string
}

const labelRow = 12

/** A mark on each last value, and its number beside the panel: those near each other are pushed apart, and no more than fit are there. */
function endShapes(ends: readonly End[], { right, top, bottom }: Area): Shape[] {
  const dots = ends.map(({ x, y, colour }): Dot => ({ kind: 'dot', x, y, radius: 2.8, colour, opacity: 1 }))
  const shown = [...ends].sort((a, b) => a.y - b.y).slice(0, Math.floor((bottom - top) / labelRow))
  const rows: number[] = []
  for (const { y } of shown) rows.push(Math.max(y, (rows.at(-1) ?? Number.NEGATIVE_INFINITY) + labelRow))
  let limit = bottom
  for (let index = rows.length - 1; index >= 0; index--) {
    rows[index] = Math.min(rows[index]!, limit)
    limit = rows[index]! - labelRow
  }
  const labels = shown.map(({ label, colour }, index) =>
    text(fitText(label, labelSize, 52), { x: right + 8, y: rows[index]! + 3.5, size: labelSize, colour }),
  )
  return [...dots, ...labels]
}

/** Sums and differences of what is drawn must be numbers too. */
function drawable(value: number): number {
  return Math.abs(value) < 1e300 ? value : Number.NaN
}

interface Range {
  readonly low: number
  readonly high: number
}

function range(values: readonly number[]): Range {
  // Not by Math.min(...values): a long run has more points than a call may have arguments.
  return { low: values.reduce((a, b) => Math.min(a, b)), high: values.reduce((a, b) => Math.max(a, b)) }
}

/** With room above and below. Values that differ by rounding alone are a flat line. */
function spaced({ low, high }: Range, padding: number): Range {
  const size = Math.max(Math.abs(low), Math.abs(high))
  const flat = high - low <= Math.max(size * 1e-9, 1e-12)
  const spare = flat ? (size < 1e-9 ? 1 : size * 0.1) : (high - low) * padding
  return { low: low - spare, high: high + spare }
}
