/** What each iteration spent its time on. */
import type { MetricTable } from '../../run/index.js'
import type { StagesAnswer } from '../api.js'
import { within } from './curves.js'
import type { Handler } from './index.js'

/** In the order in which they happen; others come after them. */
const order = [
  ...['wait', 'encoding', 'generation', 'reward', 'actor', 'reference', 'critic', 'advantages'],
  ...['data', 'update', 'sync', 'evaluation'],
]

export const stagesRoute: Handler = async ({ catalog }, exchange): Promise<StagesAnswer> => {
  const { reader, view } = await catalog.run(exchange.parts.run!)
  const safe = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const from = exchange.number('from', safe) ?? 0
  const to = exchange.number('to', safe) ?? Number.POSITIVE_INFINITY
  const most = exchange.number('points', { min: 1, max: 5000 }) ?? 400
  const across = view.config.command === 'rl' ? 'iteration' : 'step'
  return { across, ...stagesOf(reader.table, { from, to, most }) }
}

function stagesOf(
  table: MetricTable,
  { from, to, most }: { from: number; to: number; most: number },
): Omit<StagesAnswer, 'across'> {
  const stages = table.names.map(stageOf).filter(stage => stage !== undefined && stage !== 'total') as string[]
  stages.sort((a, b) => place(a) - place(b) || a.localeCompare(b))
  const rows = rowsOf(table, stages)
  const { steps: totals, times } = within(table.series(rows), from, to)
  const size = Math.max(1, Math.ceil(totals.length / most))
  const parts = Math.ceil(totals.length / size)
  const partOf = new Map<number, number>()
  for (const [at, step] of totals.entries()) partOf.set(step, Math.floor(at / size))
  const sizes = Array.from({ length: parts }, (_, part) => Math.min(totals.length, (part + 1) * size) - part * size)
  const sumsOf = (name: string): { sums: Float64Array; counts: Float64Array } => {
    const [sums, counts] = [new Float64Array(parts), new Float64Array(parts)]
    const { steps, values } = table.series(name)
    for (const [at, step] of steps.entries()) {
      const part = partOf.get(step)
      if (part === undefined) continue
      sums[part]! += values[at]!
      counts[part]!++
    }
    return { sums, counts }
  }
  /** Of each part the mean of a metric; null where it has none. */
  const means = (name: string): readonly (number | null)[] => {
    const { sums, counts } = sumsOf(name)
    return Array.from(sums, (sum, part) => (counts[part] === 0 ? null : sum / counts[part]!))
  }
  // A stage that only some iterations have takes no time of the others.
  const seconds = stages.map(
    stage => [stage, Array.from(sumsOf(`seconds/${stage}`).sums, (sum, part) => sum / sizes[part]!)] as const,
  )
  const total = means('seconds/total')
  const staleness = means('staleness/mean')
  const queue = means('rollouts/ahead')
  const speed = means('speed/tokens_per_second')
  const rss = means('memory/rss')
  const device = means('memory/device')
  const devicePeak = means('memory/device_peak')
  const iterations = Array.from({ length: parts }, (_, part): StagesAnswer['iterations'][number] => {
    const at = Math.min(totals.length, (part + 1) * size) - 1
    const by = seconds.map(([stage, values]) => [stage, values[part]!] as const)
    return {
      step: totals[at]!,
      time: times[at]!,
      seconds: Object.fromEntries([...by, ['total', total[part] ?? by.reduce((sum, [, value]) => sum + value, 0)]]),
      staleness: staleness[part]!,
      queue: queue[part]!,
      tokensPerSecond: speed[part]!,
      memory: { rss: rss[part]!, device: device[part]!, devicePeak: devicePeak[part]! },
    }
  })
  return { stages, iterations, slowest: slowestOf(stages, iterations) }
}

/** The metric that every iteration has: trainings on rows log stages, and no total. */
function rowsOf(table: MetricTable, stages: readonly string[]): string {
  const names = ['total', ...stages].map(stage => `seconds/${stage}`)
  return names.reduce((most, name) => (table.count(name) > table.count(most) ? name : most))
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
