/** Rewards of many samples with metrics of each or of all, as LightRFT's functions give them. */
import { SourceError } from './errors.js'
import type { RewardAnswer } from './source.js'

/** One number per sample, or one for all of them. */
export type MetricValues = number | ArrayLike<number>

export interface Aggregated {
  readonly rewards: ArrayLike<number>
  readonly metrics?: Readonly<Record<string, MetricValues>>
}

/** The same as a pair, as Python's functions return it: `[rewards, metrics]`. */
export type AggregatedPair = readonly [rewards: ArrayLike<number>, metrics: Readonly<Record<string, MetricValues>>]

/** Rewards with metrics, where a function gave them in one of the two forms. */
export function aggregatedOf(value: unknown): Aggregated | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('rewards' in value) return value as Aggregated
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [rewards, metrics] = value as unknown[]
  const isList = Array.isArray(rewards) || ArrayBuffer.isView(rewards)
  if (!isList || typeof metrics !== 'object' || metrics === null || Array.isArray(metrics)) return undefined
  return { rewards: rewards as ArrayLike<number>, metrics: metrics as Record<string, MetricValues> }
}

/** One answer per sample; the caller checks the number of rewards. */
export function answersOf({ rewards, metrics = {} }: Aggregated, count: number): RewardAnswer[] {
  if (typeof rewards !== 'object' || rewards === null)
    throw new SourceError(
      'wrong-type',
      'expected { rewards, metrics } or [rewards, metrics], with one reward per sample',
    )
  if (rewards.length !== count) return Array.from(rewards)
  return Array.from(rewards, (reward, i) => ({ reward, metrics: metricsOf(metrics, i, count) }))
}

/** A sample's own metrics. */
export function metricsOf(
  metrics: Readonly<Record<string, MetricValues>>,
  index: number,
  count: number,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, values]) => {
      if (typeof values === 'number') return [name, values]
      if (values.length !== count)
        throw new SourceError('wrong-count', `metrics.${name} has ${values.length} numbers for ${count} samples`)
      return [name, values[index]!]
    }),
  )
}
