/** Metrics and their curves. */
import { type MetricSeries, mainMetrics, metricNames, metricText, unitOf } from '../../run/index.js'
import type { Curve, CurvesAnswer, MetricsAnswer } from '../api.js'
import { thinned } from '../thin.js'
import type { Handler } from './index.js'

export const metricsRoute: Handler = async ({ catalog }, { parts }): Promise<MetricsAnswer> => {
  const { view, reader } = await catalog.run(parts.run!)
  const main = new Set(mainMetrics([view]))
  return {
    across: view.config.command === 'rl' ? 'iteration' : 'step',
    // What a person looks at first comes first.
    metrics: [...new Set([...main, ...reader.table.names.sort()])].map(name => {
      const last = reader.table.last(name)
      return {
        name,
        group: name.split('/')[0]!,
        unit: unitOf(name),
        meaning: meaningOf(name),
        points: reader.table.count(name),
        last: last ?? null,
        text: last === undefined ? '' : metricText(name, last),
        main: main.has(name),
      }
    }),
  }
}

export const curvesRoute: Handler = async ({ catalog }, exchange): Promise<CurvesAnswer> => {
  const { reader } = await catalog.run(exchange.parts.run!)
  const names = (exchange.query.get('metrics') ?? '').split(',').filter(name => name !== '')
  const safe = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const from = exchange.number('from', safe) ?? 0
  const to = exchange.number('to', safe) ?? Number.POSITIVE_INFINITY
  const points = exchange.number('points', { min: 10, max: 100_000 }) ?? 2000
  const curves: Curve[] = []
  for (const metric of names.slice(0, 200)) {
    const found = within(reader.table.series(metric), from, to)
    if (found.values.length > 0 || reader.table.names.includes(metric))
      curves.push({ metric, ...thinned(found, points) })
  }
  return { curves }
}

/** Steps ascend. */
export function within({ steps, times, values }: MetricSeries, from: number, to: number): MetricSeries {
  const start = steps.findIndex(step => step >= from)
  const end = steps.findLastIndex(step => step <= to) + 1
  const cut = (all: Float64Array): Float64Array => (start < 0 ? all.subarray(0, 0) : all.subarray(start, end))
  return { steps: cut(steps), times: cut(times), values: cut(values) }
}

/** Names with a part of the user's own match the family. */
function meaningOf(name: string): string {
  const exact = metricNames.find(metric => metric.name === name)
  const family = metricNames.find(
    metric => metric.name.includes('<') && name.startsWith(metric.name.replace(/<\w+>$/, '')),
  )
  // Names of options stand in quotes of Markdown, which a page shows as they are.
  return (exact ?? family)?.meaning.replaceAll('`', '') ?? ''
}
