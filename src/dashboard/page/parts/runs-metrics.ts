/** The metrics of one run or of several: each name once, with what is known of it. */
import { useEffect, useState } from 'preact/hooks'
import type { LiveEvent, MetricInfo } from '../../api.js'
import { get } from '../client.js'
import { askOn } from '../happened.js'

interface RunsMetrics {
  readonly metrics: readonly MetricInfo[] | undefined
  readonly across: 'step' | 'iteration'
  readonly error: string | undefined
}

/** The events of new points. A page hears of the metrics of the run that it listens to, and of the steps of all runs. */
export const changes = (runs: readonly string[]): readonly LiveEvent['kind'][] =>
  runs.length === 1 ? ['metrics'] : ['metrics', 'run']

export function useRunsMetrics(runs: readonly string[]): RunsMetrics {
  const [state, setState] = useState<RunsMetrics>({ metrics: undefined, across: 'step', error: undefined })
  useEffect(() => {
    let isShown = true
    const stop = askOn(changes(runs), async () => {
      try {
        const route = 'GET /api/runs/:run/metrics'
        const answers = await Promise.all(runs.map(run => get({ route, parts: { run } })))
        const byName = new Map(answers.flatMap(({ metrics }) => metrics.map(metric => [metric.name, metric])))
        const metrics = [...byName.values()]
        if (isShown) setState({ metrics, across: answers[0]?.across ?? 'step', error: undefined })
      } catch (error) {
        if (isShown) setState(before => ({ ...before, error: error instanceof Error ? error.message : String(error) }))
      }
    })
    return () => {
      isShown = false
      stop()
    }
  }, [runs.join('\n')])
  return state
}
