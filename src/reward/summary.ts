/** Rewards of a batch in a few numbers. */
import type { FailureReason, RewardOutcome } from './outcome.js'

export interface Statistics {
  readonly count: number
  readonly mean: number
  /** Of the sample; 0 for a single one. */
  readonly std: number
  readonly min: number
  readonly max: number
}

export interface RewardSummary {
  readonly scored: number
  readonly failed: number
  /** Undefined where nothing was scored: there is no mean of nothing. */
  readonly reward: Statistics | undefined
  /** By source, over the samples that it was asked about. */
  readonly components: Readonly<Record<string, Statistics>>
  /** By name, over the samples that have it. */
  readonly metrics: Readonly<Record<string, Statistics>>
  readonly failuresByReason: Readonly<Partial<Record<FailureReason, number>>>
  readonly failuresBySource: Readonly<Record<string, number>>
}

export function summarizeRewards(outcomes: readonly RewardOutcome[]): RewardSummary {
  const scored = outcomes.filter(outcome => outcome.kind === 'scored')
  const failed = outcomes.filter(outcome => outcome.kind === 'failed')
  return {
    scored: scored.length,
    failed: failed.length,
    reward: statistics(scored.map(({ reward }) => reward)),
    components: byName(scored.map(({ components }) => components)),
    metrics: byName(scored.map(({ metrics }) => metrics)),
    failuresByReason: countBy(failed.map(({ reason }) => reason)),
    failuresBySource: countBy(failed.map(({ source }) => source)),
  }
}

function statistics(values: readonly number[]): Statistics | undefined {
  if (values.length === 0) return undefined
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const [min, max] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [
    values[0]!,
    values[0]!,
  ] as [number, number])
  return { count: values.length, mean, std: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0, min, max }
}

function byName(records: readonly Readonly<Record<string, number>>[]): Record<string, Statistics> {
  const lists = new Map<string, number[]>()
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const list = lists.get(name) ?? []
      list.push(value)
      lists.set(name, list)
    }
  }
  return Object.fromEntries([...lists].map(([name, values]) => [name, statistics(values)!]))
}

function countBy<K extends string>(keys: readonly K[]): Partial<Record<K, number>> & Record<string, number> {
  const counts: Record<string, number> = {}
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1
  return counts as Partial<Record<K, number>> & Record<string, number>
}
