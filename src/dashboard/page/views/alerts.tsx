/** What seems wrong with the run, in words, with what to look at and the metrics that show it. */
import type { Alert } from '../../api.js'
import type { ViewProps } from '../app.js'
import { useAnswer } from '../hooks.js'
import { Loading } from '../parts/common.js'
import { MetricChart, type Settings } from '../parts/metric-chart.js'

export function Alerts({ run }: ViewProps) {
  const { answer, error } = useAnswer({ route: 'GET /api/runs/:run/alerts', parts: { run } }, ['metrics'])
  const { answer: known } = useAnswer({ route: 'GET /api/runs/:run/metrics', parts: { run } })
  if (!answer) return <Loading error={error} />
  const settings: Settings = {
    ...{
      range: undefined,
      onRange: () => {},
      smooth: 0,
      scale: 'linear',
      across: known?.across ?? 'step',
      markers: [],
    },
  }
  const { alerts } = answer
  const now = alerts.filter(({ holds }) => holds)
  const past = alerts.filter(({ holds }) => !holds)
  const shown = (alert: Alert) => (
    <section key={alert.id} class={`card stack alert ${alert.holds ? '' : 'past'}`} aria-label={alert.id}>
      <div class="row">
        <h2>{alert.message}</h2>
        <span class="dim small">
          {alert.holds ? 'since' : 'said at'} {settings.across} {alert.step}
        </span>
      </div>
      {alert.advice !== '' && <p>{alert.advice}</p>}
      <p class="dim small">More in docs/{alert.page.replace(/^docs\//, '')}</p>
      <div class="grid">
        {(known?.metrics ?? [])
          .filter(({ name }) => alert.metrics.includes(name))
          .map(metric => (
            <MetricChart key={metric.name} runs={[run]} metric={metric} settings={settings} />
          ))}
      </div>
    </section>
  )
  return (
    <>
      {now.length === 0 && (
        <p class="card">
          Nothing seems wrong. Looked for: flat rewards, falling entropy, growing KL, truncated answers, groups that are
          all equal, a gap between engine and trainer, rewards that fail.
        </p>
      )}
      {now.map(shown)}
      {past.length > 0 && <h2>Said before, and not true any more</h2>}
      {past.map(shown)}
    </>
  )
}
