/** Curves for the charts of a page: what they ask for at the same time goes to the server as one question for each run. */
import type { Curve, CurvesQuery } from '../../api.js'
import { get } from '../client.js'

interface Batch {
  readonly metrics: Set<string>
  readonly curves: Promise<ReadonlyMap<string, Curve>>
}

/** Those that still take metrics, by all else that is asked. */
const batches = new Map<string, Batch>()
/** The server answers this many. */
const mostMetrics = 200

/** Undefined where the run has no such metric. */
export async function askCurve(
  run: string,
  metric: string,
  query: Omit<CurvesQuery, 'metrics'>,
): Promise<Curve | undefined> {
  const key = JSON.stringify([run, query])
  let batch = batches.get(key)
  if (!batch || batch.metrics.size === mostMetrics) {
    batch = makeBatch(key, run, query)
    batches.set(key, batch)
  }
  batch.metrics.add(metric)
  return (await batch.curves).get(metric)
}

function makeBatch(key: string, run: string, query: Omit<CurvesQuery, 'metrics'>): Batch {
  const metrics = new Set<string>()
  const curves = new Promise(resolve => setTimeout(resolve)).then(async () => {
    if (batches.get(key)?.metrics === metrics) batches.delete(key)
    const asked = { ...query, metrics: [...metrics].join(',') }
    const answer = await get({ route: 'GET /api/runs/:run/curves', parts: { run }, query: asked })
    return new Map(answer.curves.map(curve => [curve.metric, curve]))
  })
  return { metrics, curves }
}
