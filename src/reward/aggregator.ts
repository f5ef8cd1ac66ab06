import { type Aggregated, type AggregatedPair, aggregatedOf, answersOf } from './aggregated.js'
import type { RewardInput } from './input.js'
import { defaultLimits, type RewardSource } from './source.js'

/** Where a source's rewards are in `modelRewardList`, by its name. */
export type RewardFnLabelMap = Readonly<Record<string, number>>

/**
 * LightRFT's `reward_fn`: makes one reward per sample of what the sources said, and of nothing but rules where there is no
 * source. It is called with some samples at a time, so a sample's reward may not depend on which others are there. A number
 * that a sample's recipe did not ask for is NaN in `modelRewardList`, never 0. The records themselves come last.
 *
 * @example
 * const rewardFn: RewardFn = ([quality, safety], labels) => ({
 *   rewards: labels.map((_, i) => 0.6 * quality![i]! + 0.4 * safety![i]!),
 *   metrics: { quality: quality!, safety: safety! },
 * })
 */
export type RewardFn = (
  modelRewardList: readonly number[][],
  labels: readonly (string | undefined)[],
  queries: readonly string[],
  refs: readonly RewardInput['target'][],
  labelMap: RewardFnLabelMap,
  inputs: readonly RewardInput[],
) => Aggregated | AggregatedPair | Promise<Aggregated | AggregatedPair>

/** A sample and what each source gave to it. */
export interface ScoredSample {
  readonly input: RewardInput
  /** In the order of the label map. */
  readonly scores: readonly number[]
}

/** The aggregator as a source of its own: what goes wrong in it is handled as in any other. */
export function aggregatorSource(fn: RewardFn, labelMap: RewardFnLabelMap): RewardSource<ScoredSample> {
  // The function of a file is a source already: it runs in the process of the file.
  if ('source' in fn) return fn.source as RewardSource<ScoredSample>
  const count = Object.keys(labelMap).length
  return {
    name: 'rewardFn',
    kind: 'function',
    limits: defaultLimits.batchFunction,
    async score(samples) {
      const inputs = samples.map(sample => sample.input)
      const aggregated = await fn(
        Array.from({ length: count }, (_, source) => samples.map(({ scores }) => scores[source]!)),
        inputs.map(input => input.label),
        inputs.map(input => input.query),
        inputs.map(input => input.target),
        labelMap,
        inputs,
      )
      return answersOf(aggregatedOf(aggregated) ?? ({} as Aggregated), samples.length)
    },
  }
}
