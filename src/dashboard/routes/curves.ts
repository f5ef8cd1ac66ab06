/** Metrics and their curves. */
import { mainMetrics, metricNames, metricText, unitOf } from '../../run/index.js'
import type { Curve, CurvesAnswer, MetricsAnswer } from '../api.js'
import { thinned } from '../thin.js'
import type { Handler } from './index.js'

export const metricsRoute: Handler = async ({ catalog }, { parts }): Promise<MetricsAnswer> => {
  const { view, reader } = await catalog.run(parts.run!)
  const main = new Set(mainMetrics([view]))
  return {
    across: view.config.command === 'rl' ? 'iteration' : 'step',
    metrics: reader.table.names.sort().map(name => {
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
  const { view } = await catalog.run(exchange.parts.run!)
  const names = (exchange.query.get('metrics') ?? '').split(',').filter(name => name !== '')
  const safe = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const from = exchange.number('from', safe) ?? 0
  const to = exchange.number('to', safe) ?? Number.POSITIVE_INFINITY
  const points = exchange.number('points', { min: 10, max: 100_000 }) ?? 2000
  const curves: Curve[] = []
  for (const metric of names.slice(0, 200)) {
    const found = view.metrics.get(metric)
    if (found)
      curves.push({
        metric,
        ...thinned(
          found.filter(({ step }) => step >= from && step <= to),
          points,
        ),
      })
  }
  return { curves }
}

/** Names with a part of the user's own match the family. */
function meaningOf(name: string): string {
  const exact = metricNames.find(metric => metric.name === name)
  const family = metricNames.find(
    metric => metric.name.includes('<') && name.startsWith(metric.name.replace(/<\w+>$/, '')),
  )
  return (exact ?? family)?.meaning ?? ''
}
