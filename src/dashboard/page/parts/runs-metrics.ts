/** The metrics of one run or of several: each name once, with what is known of it. */
import { useEffect, useState } from 'preact/hooks'
import type { MetricInfo } from '../../api.js'
import { get } from '../client.js'
import { liveVersion, watchLive } from '../live.js'

interface RunsMetrics {
  readonly metrics: readonly MetricInfo[] | undefined
  readonly across: 'step' | 'iteration'
  readonly error: string | undefined
}

export function useRunsMetrics(runs: readonly string[]): RunsMetrics {
  const [state, setState] = useState<RunsMetrics>({ metrics: undefined, across: 'step', error: undefined })
  useEffect(() => {
    let isShown = true
    const ask = async (): Promise<void> => {
      try {
        const route = 'GET /api/runs/:run/metrics'
        const answers = await Promise.all(runs.map(run => get({ route, parts: { run } })))
        const byName = new Map(answers.flatMap(({ metrics }) => metrics.map(metric => [metric.name, metric])))
        const metrics = [...byName.values()]
        if (isShown) setState({ metrics, across: answers[0]?.across ?? 'step', error: undefined })
      } catch (error) {
        if (isShown) setState(before => ({ ...before, error: error instanceof Error ? error.message : String(error) }))
      }
    }
    void ask()
    let known = liveVersion(['metrics'])
    const stop = watchLive(() => {
      if (liveVersion(['metrics']) !== known) void ask()
      known = liveVersion(['metrics'])
    })
    return () => {
      isShown = false
      stop()
    }
  }, [runs.join('\n')])
  return state
}
