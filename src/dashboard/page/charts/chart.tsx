/** A line chart: several curves with their ranges and markers. A drag zooms, a double click shows all; arrow keys move the cursor. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Marker } from '../../api.js'
import { number } from '../format.js'
import { markerPlugin } from './markers.js'
import { type ColourName, colour, faint, useTheme } from './theme.js'
import { useWidth } from './use-width.js'

export interface Series {
  readonly label: string
  readonly colour: ColourName
  readonly steps: readonly number[]
  readonly values: readonly (number | null)[]
  /** Drawn faint behind it: the values before smoothing. */
  readonly raw?: readonly (number | null)[]
  readonly low?: readonly (number | null)[]
  readonly high?: readonly (number | null)[]
}

export interface Range {
  readonly from: number
  readonly to: number
}

interface ChartProps {
  /** For those who do not see it. */
  readonly label: string
  readonly series: readonly Series[]
  readonly markers?: readonly Marker[]
  readonly range?: Range | undefined
  readonly onRange?: (range: Range | undefined) => void
  readonly scale?: 'linear' | 'log'
  readonly height?: number
  readonly text?: (value: number) => string
  /** What the horizontal axis counts. */
  readonly across?: string
}

export function Chart(props: ChartProps) {
  const { label, series, markers = [], range, onRange, scale = 'linear', height = 170 } = props
  const host = useRef<HTMLDivElement>(null)
  const readout = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(props)
  latest.current = props
  const theme = useTheme()
  const width = useWidth(host)
  const shape = series.map(one => `${one.label} ${one.colour} ${!!one.raw} ${!!one.low}`).join('|')

  useEffect(() => {
    const element = host.current
    if (!element || width === 0) return
    const made = new uPlot(optionsOf(latest, width, height, readout), dataOf(latest.current.series), element)
    plot.current = made
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [shape, scale, theme, width === 0, height])
  useEffect(() => plot.current?.setSize({ width, height }), [width, height])
  useEffect(() => {
    plot.current?.setData(dataOf(series), false)
    const all = extentOf(series)
    plot.current?.setScale('x', range ? { min: range.from, max: range.to } : all)
  }, [series, markers, range?.from, range?.to, shape, scale, theme, width === 0])

  const onKeyDown = (event: KeyboardEvent) => {
    const u = plot.current
    if (!u) return
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step !== undefined) {
      const last = u.data[0].length - 1
      const idx = Math.min(last, Math.max(0, (u.cursor.idx ?? last) + step))
      u.setCursor({ left: u.valToPos(u.data[0][idx]!, 'x'), top: 10 })
    } else if (event.key === 'Escape' || event.key === '0') onRange?.(undefined)
    else if ((event.key === '+' || event.key === '-') && onRange) onRange(zoomed(u, event.key))
    else return
    event.preventDefault()
  }
  return (
    <div class="chart">
      <div ref={readout} class="readout" aria-hidden="true" />
      <div
        ref={host}
        class="chart-area"
        role="img"
        aria-label={summary(label, props)}
        tabIndex={0}
        onKeyDown={onKeyDown}
      />
    </div>
  )
}

/** Room above and below; a curve that does not move stands in the middle. */
function around(_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  if (min === null || max === null) return [0, 1]
  if (min === max) return [min - (Math.abs(min) / 2 || 1), max + (Math.abs(max) / 2 || 1)]
  return uPlot.rangeNum(min, max, 0.1, false)
}

/** As many digits as tell the ticks apart. */
function ticks(at: readonly (number | null)[], text: (value: number) => string): string[] {
  const known = at.filter(value => value !== null)
  const shown = new Set(known.map(text))
  if (shown.size === known.length) return at.map(value => (value === null ? '' : text(value)))
  const apart = Math.abs((known[1] ?? 1) - (known[0] ?? 0))
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(apart || 1))))
  return at.map(value => (value === null ? '' : value.toFixed(digits)))
}

/** One value makes no line, such as that of the first evaluation. */
const isAlone = (u: uPlot, line: number): boolean => {
  let known = 0
  for (const value of u.data[line]!) if (value !== null && value !== undefined) known++
  return known === 1
}

function optionsOf(
  latest: { readonly current: ChartProps },
  width: number,
  height: number,
  readout: { readonly current: HTMLDivElement | null },
): uPlot.Options {
  const { series, scale, text = number } = latest.current
  const lines: uPlot.Series[] = []
  const bands: uPlot.Band[] = []
  for (const { colour: name, label, raw, low } of series) {
    const rgb = colour(name)
    if (low) {
      const at = lines.length + 1
      const edge = { stroke: 'transparent', points: { show: false } }
      lines.push({ ...edge, label: 'high' }, { ...edge, label: 'low' })
      bands.push({ series: [at, at + 1], fill: faint(rgb, 0.16) })
    }
    if (raw) lines.push({ stroke: faint(rgb, 0.3), width: 1, points: { show: false }, spanGaps: true, label: 'raw' })
    lines.push({ stroke: rgb, width: 1.6, points: { show: isAlone, size: 5, fill: rgb }, spanGaps: true, label })
  }
  const axis = { stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } }
  const font = '11px system-ui, sans-serif'
  return {
    ...{ width, height, bands, legend: { show: false }, padding: [8, 16, 0, 0] },
    series: [{}, ...lines],
    scales: { x: { time: false }, y: scale === 'log' ? { distr: 3, log: 10 } : { range: around } },
    axes: [
      { ...axis, font, size: 26, values: (_, at) => at.map(value => (Number.isInteger(value) ? number(value) : '')) },
      { ...axis, font, size: 56, values: (_, at) => ticks(at, text) },
    ],
    cursor: {
      drag: { x: true, y: false, setScale: false },
      sync: { key: 'steps' },
      focus: { prox: 24 },
      points: { size: 6 },
      bind: {
        dblclick: () => () => {
          latest.current.onRange?.(undefined)
          return null
        },
      },
    },
    plugins: [markerPlugin(() => latest.current.markers ?? [])],
    hooks: {
      setSelect: [
        u => {
          if (u.select.width < 4) return
          const [from, to] = [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')]
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          latest.current.onRange?.({ from: Math.floor(from), to: Math.ceil(to) })
        },
      ],
      setCursor: [
        u => {
          if (readout.current) readout.current.textContent = readoutOf(u, latest.current)
        },
      ],
    },
  }
}

/** What stands under the cursor, in words. */
function readoutOf(u: uPlot, { series, markers = [], across = 'step', text = number }: ChartProps): string {
  const { idx, left = -1 } = u.cursor
  if (idx === null || idx === undefined || left < 0) return ''
  const step = u.data[0][idx]!
  const shown = u.series
    .slice(1)
    .map((line, i) => ({ label: String(line.label), value: u.data[i + 1]?.[idx] }))
    .filter(({ label }) => series.some(one => one.label === label))
    .filter(({ value }) => value !== null && value !== undefined)
    .map(({ label, value }) => (series.length > 1 ? `${label} ${text(value!)}` : text(value!)))
  const near = markers.filter(marker => Math.abs(u.valToPos(marker.step, 'x') - left) < 5).map(marker => marker.text)
  return [`${across} ${number(step)}`, ...shown, ...near].join(' · ')
}

/** All curves over the steps of all of them. */
function dataOf(series: readonly Series[]): uPlot.AlignedData {
  const tables = series.map(({ steps, values, raw, low, high }) => [
    steps,
    ...(low && high ? [high, low] : []),
    ...(raw ? [raw] : []),
    values,
  ]) as unknown as uPlot.AlignedData[]
  const [only] = tables
  if (!only) return [[]]
  return tables.length === 1 ? only : uPlot.join(tables)
}

function extentOf(series: readonly Series[]): { min: number; max: number } {
  const first = Math.min(...series.map(({ steps }) => steps[0] ?? Number.POSITIVE_INFINITY))
  const last = Math.max(...series.map(({ steps }) => steps.at(-1) ?? Number.NEGATIVE_INFINITY))
  return Number.isFinite(first) ? { min: first, max: Math.max(last, first + 1) } : { min: 0, max: 1 }
}

function zoomed(u: uPlot, key: '+' | '-'): Range {
  const { min = 0, max = 1 } = u.scales.x!
  const middle = u.cursor.idx === null || u.cursor.idx === undefined ? (min! + max!) / 2 : u.data[0][u.cursor.idx]!
  const half = ((max! - min!) / 2) * (key === '+' ? 0.5 : 2)
  return { from: Math.max(0, Math.floor(middle - half)), to: Math.ceil(middle + half) }
}

function summary(label: string, { series, text = number }: ChartProps): string {
  const parts = series.map(({ label: name, values }) => {
    const known = values.filter(value => value !== null)
    if (known.length === 0) return `${name}: no values`
    const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))]
    return `${name}: last ${text(known.at(-1)!)}, from ${text(least)} to ${text(most)}`
  })
  return `${label}. ${parts.join('; ')}`
}
