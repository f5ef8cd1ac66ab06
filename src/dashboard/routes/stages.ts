/** What each iteration spent its time on. */
import type { RunView } from '../../run/index.js'
import type { StagesAnswer } from '../api.js'
import type { Handler } from './index.js'

/** In the order in which they happen; others come after them. */
const order = [
  'encoding',
  'generation',
  'reward',
  'actor',
  'reference',
  'critic',
  'advantages',
  'update',
  'sync',
  'evaluation',
  'wait',
]

export const stagesRoute: Handler = async ({ catalog }, exchange): Promise<StagesAnswer> => {
  const { view } = await catalog.run(exchange.parts.run!)
  const safe = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const from = exchange.number('from', safe) ?? 0
  const to = exchange.number('to', safe) ?? Number.POSITIVE_INFINITY
  const most = exchange.number('points', { min: 1, max: 5000 }) ?? 400
  return stagesOf(view, { from, to, most })
}

export function stagesOf(
  { metrics }: RunView,
  { from, to, most }: { from: number; to: number; most: number },
): StagesAnswer {
  const stages = [...metrics.keys()].map(stageOf).filter(stage => stage !== undefined && stage !== 'total') as string[]
  stages.sort((a, b) => place(a) - place(b) || a.localeCompare(b))
  const columns = new Map<string, Map<number, number>>()
  const column = (name: string): Map<number, number> => {
    const known = columns.get(name) ?? new Map((metrics.get(name) ?? []).map(({ step, value }) => [step, value]))
    columns.set(name, known)
    return known
  }
  const totals = (metrics.get('seconds/total') ?? []).filter(({ step }) => step >= from && step <= to)
  const size = Math.max(1, Math.ceil(totals.length / most))
  const iterations: StagesAnswer['iterations'][number][] = []
  for (let start = 0; start < totals.length; start += size) {
    const part = totals.slice(start, start + size)
    const mean = (name: string): number | null => {
      const values = part.flatMap(({ step }) => column(name).get(step) ?? [])
      return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length
    }
    const seconds = Object.fromEntries([...stages, 'total'].map(stage => [stage, mean(`seconds/${stage}`) ?? 0]))
    iterations.push({
      step: part.at(-1)!.step,
      time: part.at(-1)!.time,
      seconds,
      staleness: mean('staleness/mean'),
      queue: mean('rollouts/ahead'),
      tokensPerSecond: mean('speed/tokens_per_second'),
      memory: { rss: mean('memory/rss'), device: mean('memory/device'), devicePeak: mean('memory/device_peak') },
    })
  }
  return { stages, iterations, slowest: slowestOf(stages, iterations) }
}

function slowestOf(stages: readonly string[], iterations: StagesAnswer['iterations']): StagesAnswer['slowest'] {
  const sum = (stage: string): number => iterations.reduce((all, { seconds }) => all + (seconds[stage] ?? 0), 0)
  const total = stages.reduce((all, stage) => all + sum(stage), 0)
  const [stage] = [...stages].sort((a, b) => sum(b) - sum(a))
  if (stage === undefined || total === 0) return null
  const share = sum(stage) / total
  return { stage, share, text: `${stage} takes ${Math.round(100 * share)} % of the time` }
}

function place(stage: string): number {
  const at = order.indexOf(stage)
  return at < 0 ? order.length : at
}

/** `update` of `seconds/update`. */
function stageOf(metric: string): string | undefined {
  return metric.startsWith('seconds/') ? metric.slice('seconds/'.length) : undefined
}
