/** Numbers of things side by side: a panel for each kind of number, a colour for each thing. */
import { colourOf, faint, grid, headerLine, ink, legendLines, line, margin, panel } from './chart.js'
import type { Box, Drawing, Line } from './drawing.js'
import { fitText, textLines } from './stroke-font.js'
import { tickLabel, ticks } from './ticks.js'

export interface Bar {
  readonly value: number
  /** Drawn over the bar. */
  readonly interval?: { readonly low: number; readonly high: number } | undefined
}

export interface BarGroup {
  readonly label: string
  /** One for each of `names`; undefined where there is no number. */
  readonly bars: readonly (Bar | undefined)[]
}

export interface BarPanel {
  readonly title: string
  readonly groups: readonly BarGroup[]
}

export interface BarChartOptions {
  readonly names: readonly string[]
  readonly panels: readonly BarPanel[]
}

export function barChart({ names, panels }: BarChartOptions): Drawing {
  // Four are a square.
  const columns = panels.length === 4 ? 2 : Math.max(1, Math.min(3, panels.length))
  const width = columns * panel.width + 2 * margin
  const legend = legendLines(
    names.map(name => ({ name })),
    width,
  )
  const header = margin + legend.rows * headerLine
  const height = header + Math.ceil(panels.length / columns) * panel.height + margin
  const background: Box = { kind: 'box', x: 0, y: 0, width, height, colour: '#ffffff' }
  const drawn = panels.flatMap((one, index) =>
    panelShapes(one, {
      x: margin + (index % columns) * panel.width,
      y: header + Math.floor(index / columns) * panel.height,
    }),
  )
  return {
    title: `${panels.map(({ title }) => title).join(', ')} of ${names.join(', ')}`,
    width,
    height,
    shapes: [background, ...legend.lines, ...drawn],
  }
}

function panelShapes({ title, groups }: BarPanel, origin: { x: number; y: number }): (Line | Box)[] {
  const left = origin.x + panel.left
  const right = origin.x + panel.width - panel.right
  const top = origin.y + panel.top
  const bottom = origin.y + panel.height - panel.bottom
  // A bar stands on 0, whatever the numbers are.
  const ends = groups.flatMap(({ bars }) => bars.flatMap(bar => (bar ? endsOf(bar) : []))).filter(Number.isFinite)
  const low = Math.min(0, ...ends)
  const high = Math.max(0, ...ends)
  const spare = (high - low || 1) * 0.06
  const [from, to] = [low < 0 ? low - spare : 0, high > 0 || low === high ? high + spare : 0]
  const place = (value: number): number => bottom - ((value - from) / (to - from)) * (bottom - top)
  const shapes: (Line | Box)[] = textLines(fitText(title, 9, right - left), {
    x: left,
    y: top - 10,
    size: 9,
    colour: ink,
  })
  for (const value of ticks(from, to, 5)) {
    const y = place(value)
    const ends = [
      { x: left, y },
      { x: right, y },
    ]
    shapes.push(line(ends, { width: 1, colour: value === 0 ? faint : grid, opacity: 1 }))
    shapes.push(...textLines(tickLabel(value), { x: left - 6, y: y + 3.5, size: 7, colour: faint, align: 'end' }))
  }
  const slot = (right - left) / Math.max(1, groups.length)
  for (const [g, { label, bars }] of groups.entries()) {
    const start = left + g * slot
    const width = Math.min(40, (slot * 0.8) / Math.max(1, bars.length))
    const first = start + slot / 2 - (width * bars.length) / 2
    for (const [b, bar] of bars.entries())
      if (bar && Number.isFinite(bar.value))
        shapes.push(...barShapes(bar, { x: first + b * width, width, index: b, place }))
    const middle = { x: start + slot / 2, y: bottom + 15, size: 7, colour: faint, align: 'middle' } as const
    shapes.push(...textLines(fitText(label, 7, slot - 4), middle))
  }
  return shapes
}

const endsOf = ({ value, interval }: Bar): number[] => [value, ...(interval ? [interval.low, interval.high] : [])]

function barShapes(
  { value, interval }: Bar,
  at: { x: number; width: number; index: number; place: (value: number) => number },
): (Line | Box)[] {
  const { x, width, index, place } = at
  const [y, zero] = [place(value), place(0)]
  const box: Box = {
    kind: 'box',
    x: x + 1,
    y: Math.min(y, zero),
    width: Math.max(1, width - 2),
    height: Math.abs(zero - y),
    colour: colourOf(index),
  }
  if (!interval) return [box]
  const middle = x + width / 2
  const whisker = [
    { x: middle, y: place(interval.low) },
    { x: middle, y: place(interval.high) },
  ]
  return [box, line(whisker, { width: 1.4, colour: ink, opacity: 1 })]
}
