/** Every metric as a chart, of one run or of several; zoom, smoothing and scale are shared by all. */
import { useMemo, useState } from 'preact/hooks'
import type { Marker, MetricInfo } from '../../api.js'
import type { Address } from '../address.js'
import type { Range } from '../charts/chart.js'
import { markerColours } from '../charts/markers.js'
import { seriesColour } from '../charts/theme.js'
import { tune, useAnswer } from '../hooks.js'
import { Loading } from '../parts/common.js'
import { MetricChart, type Settings } from '../parts/metric-chart.js'
import { useRunsMetrics } from '../parts/runs-metrics.js'

const kinds = Object.keys(markerColours) as Marker['kind'][]

export function Curves({ address }: { readonly address: Address }) {
  const { runs, query } = address
  const { metrics, across, error } = useRunsMetrics(runs)
  const { answer: detail } = useAnswer({ route: 'GET /api/runs/:run', parts: { run: runs[0]! } }, [
    'run',
    'acts',
    'metrics',
  ])
  const [filter, setFilter] = useState('')
  const range: Range | undefined =
    query.from !== undefined && query.to !== undefined ? { from: Number(query.from), to: Number(query.to) } : undefined
  const hidden = (query.hide ?? '').split(',')
  const markers = useMemo(
    () => (runs.length > 1 ? [] : (detail?.markers ?? []).filter(({ kind }) => !hidden.includes(kind))),
    [detail, query.hide, runs.length],
  )
  if (!metrics) return <Loading error={error} />
  const settings: Settings = {
    ...{ range, across, smooth: Number(query.smooth ?? 0), scale: query.scale === 'log' ? 'log' : 'linear', markers },
    onRange: next => tune(address, { from: next && String(next.from), to: next && String(next.to) }),
  }
  const asked = filter === '' ? (query.group ?? 'main') : 'all'
  const shown = metrics.filter(
    ({ name, group, main }) =>
      (asked === 'all' || (asked === 'main' ? main : group === asked)) && name.includes(filter.trim()),
  )
  const groups = ['main', ...[...new Set(metrics.map(({ group }) => group))].sort(), 'all']
  return (
    <>
      <Controls address={address} settings={settings} filter={filter} onFilter={setFilter} />
      {runs.length > 1 ? (
        <ul class="legend card">
          {runs.map((run, place) => (
            <li key={run}>
              <span class="swatch" style={{ background: `var(--${seriesColour(place)})` }} />
              {run}
            </li>
          ))}
        </ul>
      ) : (
        <MarkerLegend address={address} hidden={hidden} markers={detail?.markers ?? []} />
      )}
      <nav class="row" aria-label="Groups of metrics">
        {groups.map(group => (
          <button key={group} type="button" aria-pressed={asked === group} onClick={() => tune(address, { group })}>
            {group}
          </button>
        ))}
      </nav>
      <div class="grid">
        {shown.map((metric: MetricInfo) => (
          <MetricChart key={metric.name} runs={runs} metric={metric} settings={settings} />
        ))}
      </div>
      {shown.length === 0 && <p class="note">No metric of this name yet.</p>}
    </>
  )
}

interface ControlProps {
  readonly address: Address
  readonly settings: Settings
  readonly filter: string
  readonly onFilter: (filter: string) => void
}

function Controls({ address, settings, filter, onFilter }: ControlProps) {
  const { range, smooth, scale, across } = settings
  const set = (name: 'from' | 'to') => (event: { currentTarget: HTMLInputElement }) => {
    const whole = { from: String(range?.from ?? 0), to: String(range?.to ?? Number(event.currentTarget.value) + 1) }
    tune(address, { ...whole, [name]: event.currentTarget.value || undefined })
  }
  return (
    <div class="card row end">
      <label class="field">
        find a metric
        <input type="search" value={filter} onInput={event => onFilter(event.currentTarget.value)} />
      </label>
      <label class="field">
        smoothing {smooth}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smooth}
          onInput={event => tune(address, { smooth: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        scale
        <select value={scale} onChange={event => tune(address, { scale: event.currentTarget.value })}>
          <option>linear</option>
          <option>log</option>
        </select>
      </label>
      <label class="field">
        from {across}
        <input type="number" min="0" value={range?.from ?? ''} onChange={set('from')} />
      </label>
      <label class="field">
        to {across}
        <input type="number" min="0" value={range?.to ?? ''} onChange={set('to')} />
      </label>
      <button type="button" disabled={!range} onClick={() => tune(address, { from: undefined, to: undefined })}>
        Show all
      </button>
      <span class="dim small">Drag over a chart to zoom all of them.</span>
    </div>
  )
}

interface LegendProps {
  readonly address: Address
  readonly hidden: readonly string[]
  readonly markers: readonly Marker[]
}

function MarkerLegend({ address, hidden, markers }: LegendProps) {
  const there = kinds.filter(kind => markers.some(marker => marker.kind === kind))
  if (there.length === 0) return null
  return (
    <ul class="legend card">
      {there.map(kind => (
        <li key={kind}>
          <label>
            <input
              type="checkbox"
              checked={!hidden.includes(kind)}
              onChange={() => {
                const next = hidden.includes(kind) ? hidden.filter(one => one !== kind) : [...hidden, kind]
                tune(address, { hide: next.filter(one => one !== '').join(',') })
              }}
            />{' '}
            <span class="swatch" style={{ background: `var(--${markerColours[kind]})` }} />
            {kind} ({markers.filter(marker => marker.kind === kind).length})
          </label>
        </li>
      ))}
    </ul>
  )
}
