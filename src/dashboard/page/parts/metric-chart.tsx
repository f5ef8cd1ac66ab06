/** The chart of one metric. It asks for its points when it comes into sight, as many as it has pixels, and for more detail when zoomed. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Curve, Marker, MetricInfo } from '../../api.js'
import { Chart, type Range, type Series } from '../charts/chart.js'
import { positive, smoothed } from '../charts/smooth.js'
import { seriesColour } from '../charts/theme.js'
import { count } from '../format.js'
import { askOn } from '../happened.js'
import { askCurve } from './ask-curves.js'
import { changes } from './runs-metrics.js'

export interface Settings {
  readonly range: Range | undefined
  readonly onRange: (range: Range | undefined) => void
  readonly smooth: number
  readonly scale: 'linear' | 'log'
  readonly across: 'step' | 'iteration'
  readonly markers: readonly Marker[]
}

interface MetricChartProps {
  readonly runs: readonly string[]
  readonly metric: MetricInfo
  readonly settings: Settings
}

const mostPoints = 1000

export function MetricChart({ runs, metric, settings }: MetricChartProps) {
  const { range, onRange, smooth, scale, across, markers } = settings
  const host = useRef<HTMLElement>(null)
  const isSeen = useSeen(host)
  const { curves, error } = useCurves({ runs, metric: metric.name, range, isSeen })
  const series = useMemo(
    () => runs.flatMap((run, place) => seriesOf({ run, place, curve: curves?.[place], smooth, scale })),
    [curves, smooth, scale],
  )
  return (
    <section class="card plot" ref={host} aria-label={metric.name}>
      <div class="metric-head">
        <h2>{metric.name}</h2>
        <span class="num">{runs.length === 1 ? metric.text : ''}</span>
      </div>
      <p class="dim small">{metric.meaning}</p>
      {error && <p class="error small">{error}</p>}
      <Chart
        label={metric.name}
        series={series}
        markers={markers}
        range={range}
        onRange={onRange}
        scale={scale}
        across={across}
      />
      {metric.points > mostPoints && runs.length === 1 && !range && (
        <p class="dim small">{count(metric.points)} points, as means with their lowest and highest values</p>
      )}
    </section>
  )
}

interface SeriesOptions {
  readonly run: string
  readonly place: number
  readonly curve: Curve | undefined
  readonly smooth: number
  readonly scale: 'linear' | 'log'
}

function seriesOf({ run, place, curve, smooth, scale }: SeriesOptions): Series[] {
  if (!curve || curve.steps.length === 0) return []
  const shown = scale === 'log' ? positive : (values: readonly (number | null)[]) => values
  const { steps, values, low, high } = curve
  return [
    {
      ...{ label: run, colour: seriesColour(place), steps, values: shown(smoothed(values, smooth)) },
      ...(smooth > 0 ? { raw: shown(values) } : {}),
      ...(low && high ? { low: shown(low), high: shown(high) } : {}),
    },
  ]
}

interface CurvesAsked {
  readonly runs: readonly string[]
  readonly metric: string
  readonly range: Range | undefined
  readonly isSeen: boolean
}

function useCurves({ runs, metric, range, isSeen }: CurvesAsked) {
  const [state, setState] = useState<{ curves?: (Curve | undefined)[]; error?: string }>({})
  useEffect(() => {
    if (!isSeen) return
    let isShown = true
    const query = { points: mostPoints, ...range }
    const stop = askOn(changes(runs), async () => {
      try {
        const found = await Promise.all(runs.map(run => askCurve(run, metric, query)))
        if (isShown) setState({ curves: found })
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (isShown) setState(before => ({ ...before, error: message }))
      }
    })
    return () => {
      isShown = false
      stop()
    }
  }, [runs.join('\n'), metric, range?.from, range?.to, isSeen])
  return state
}

/** Whether the element is in sight, or nearly. */
function useSeen(element: { readonly current: HTMLElement | null }): boolean {
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    if (!element.current) return
    const observer = new IntersectionObserver(entries => setSeen(entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: '300px',
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return isSeen
}
