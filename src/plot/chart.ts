/** Curves of runs as a drawing: a panel for each metric, a colour for each run, the trend over the numbers. */
import type { Box, Drawing, Line, Point } from './drawing.js'
import { smooth, stretches, thin } from './series.js'
import { fitText, textLines, textWidth } from './stroke-font.js'
import { tickLabel, ticks } from './ticks.js'

export interface ChartRun {
  readonly name: string
  /** By metric, ascending by step. */
  readonly metrics: ReadonlyMap<string, readonly { readonly step: number; readonly value: number }[]>
}

export interface ChartOptions {
  readonly runs: readonly ChartRun[]
  /** One panel each. */
  readonly metrics: readonly string[]
}

export const panel = { width: 400, height: 240, left: 58, right: 14, top: 30, bottom: 30 }
export const margin = 12
export const headerLine = 20
export const ink = '#2b2b2b'
export const faint = '#6f6f6f'
export const grid = '#e3e3e3'
/** Okabe and Ito's, which people with any colour vision can tell apart; the yellow one, hard to see on white, left out. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#000000']

export function chart({ runs, metrics }: ChartOptions): Drawing {
  const columns = Math.max(1, Math.min(3, metrics.length))
  const rows = Math.ceil(metrics.length / columns)
  const width = columns * panel.width + 2 * margin
  const legend = legendLines(runs, width)
  const header = margin + legend.rows * headerLine
  const height = header + rows * panel.height + margin
  const background: Box = { kind: 'box', x: 0, y: 0, width, height, colour: '#ffffff' }
  const panels = metrics.flatMap((metric, index) => {
    const x = margin + (index % columns) * panel.width
    const y = header + Math.floor(index / columns) * panel.height
    return panelLines(metric, runs, { x, y })
  })
  return {
    title: `${metrics.join(', ')} of ${runs.map(({ name }) => name).join(', ')}`,
    width,
    height,
    shapes: [background, ...legend.lines, ...panels],
  }
}

/** Names of the runs, each behind a piece of its line, in as many rows as they need. */
export function legendLines(
  runs: readonly { readonly name: string }[],
  width: number,
): { lines: Line[]; rows: number } {
  const lines: Line[] = []
  let x = margin
  let row = 0
  for (const [index, { name }] of runs.entries()) {
    const label = fitText(name, 9, width - 2 * margin - 40)
    const needed = 28 + textWidth(label, 9) + 24
    if (x > margin && x + needed > width - margin) {
      x = margin
      row++
    }
    const y = margin + row * headerLine + 10
    lines.push(
      line(
        [
          { x, y: y - 4 },
          { x: x + 20, y: y - 4 },
        ],
        { width: 2.5, colour: colourOf(index), opacity: 1 },
      ),
    )
    lines.push(...textLines(label, { x: x + 28, y, size: 9, colour: ink }))
    x += needed
  }
  return { lines, rows: row + 1 }
}

function panelLines(metric: string, runs: readonly ChartRun[], origin: Point): Line[] {
  const left = origin.x + panel.left
  const right = origin.x + panel.width - panel.right
  const top = origin.y + panel.top
  const bottom = origin.y + panel.height - panel.bottom
  const curves = runs.map(run =>
    (run.metrics.get(metric) ?? []).map(({ step, value }) => ({ x: step, y: drawable(value) })),
  )
  const all = curves.flat().filter(({ y }) => Number.isFinite(y))
  const lines = textLines(fitText(metric, 9, right - left), { x: left, y: top - 10, size: 9, colour: ink })
  if (all.length === 0)
    return [
      ...lines,
      ...textLines('no numbers', {
        x: (left + right) / 2,
        y: (top + bottom) / 2,
        size: 9,
        colour: faint,
        align: 'middle',
      }),
    ]
  const xs = range(
    all.map(({ x }) => x),
    { padding: 0 },
  )
  const ys = range(
    all.map(({ y }) => y),
    { padding: 0.06 },
  )
  const place = ({ x, y }: Point): Point => ({
    x: left + ((x - xs.low) / (xs.high - xs.low)) * (right - left),
    y: bottom - ((y - ys.low) / (ys.high - ys.low)) * (bottom - top),
  })
  for (const value of ticks(ys.low, ys.high, 5)) {
    const { y } = place({ x: xs.low, y: value })
    lines.push(
      line(
        [
          { x: left, y },
          { x: right, y },
        ],
        { width: 1, colour: grid, opacity: 1 },
      ),
    )
    lines.push(...textLines(tickLabel(value), { x: left - 6, y: y + 3.5, size: 7, colour: faint, align: 'end' }))
  }
  for (const value of ticks(xs.low, xs.high, 5).filter(Number.isInteger)) {
    const { x } = place({ x: value, y: ys.low })
    lines.push(
      line(
        [
          { x, y: bottom },
          { x, y: bottom + 4 },
        ],
        { width: 1, colour: faint, opacity: 1 },
      ),
    )
    lines.push(...textLines(tickLabel(value), { x, y: bottom + 15, size: 7, colour: faint, align: 'middle' }))
  }
  lines.push(
    line(
      [
        { x: left, y: bottom },
        { x: right, y: bottom },
      ],
      { width: 1, colour: faint, opacity: 1 },
    ),
  )
  for (const [index, curve] of curves.entries()) {
    const trend = smooth(curve)
    const draw = (points: readonly Point[], width: number, opacity: number): Line[] =>
      stretches(points).map(part =>
        line(dotted(thin(part, right - left).map(place)), { width, colour: colourOf(index), opacity }),
      )
    lines.push(...(trend ? [...draw(curve, 1, 0.3), ...draw(trend, 1.8, 1)] : draw(curve, 1.6, 1)))
  }
  return lines
}

/** Sums and differences of what is drawn must be numbers too. */
function drawable(value: number): number {
  return Math.abs(value) < 1e300 ? value : Number.NaN
}

/** A single point would be a line of no length. */
function dotted(points: readonly Point[]): readonly Point[] {
  const [only] = points
  return points.length === 1 && only
    ? [
        { x: only.x - 1.5, y: only.y },
        { x: only.x + 1.5, y: only.y },
      ]
    : points
}

function range(values: readonly number[], { padding }: { padding: number }): { low: number; high: number } {
  // Not by Math.min(...values): a long run has more points than a call may have arguments.
  const low = values.reduce((a, b) => Math.min(a, b))
  const high = values.reduce((a, b) => Math.max(a, b))
  const spare = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * padding
  return { low: low - spare, high: high + spare }
}

export function line(points: readonly Point[], style: Pick<Line, 'width' | 'colour' | 'opacity'>): Line {
  return { kind: 'line', points, ...style }
}

export function colourOf(index: number): string {
  return colours[index % colours.length]!
}
