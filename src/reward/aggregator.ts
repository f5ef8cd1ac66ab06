import { type Aggregated, type AggregatedPair, aggregatedOf, answersOf } from './aggregated.js'
import type { RewardInput } from './input.js'
import { defaultLimits, type RewardSource } from './source.js'

/** Index of a source in `modelRewardList`, by its name. */
export type RewardFnLabelMap = Readonly<Record<string, number>>

/**
 * `reward_fn` of LightRFT: combines the outputs of the sources to one reward per sample, or computes it from rules if there is no
 * source. It is called with some samples at a time, so a reward must not depend on the other samples. A number that the recipe of
 * a sample did not request is NaN in `modelRewardList`, never 0. The records come last.
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

/** A sample and the output of each source. */
export interface ScoredSample {
  readonly input: RewardInput
  /** In the order of the label map. */
  readonly scores: readonly number[]
}

/** The aggregator as a source: its failures are handled like those of any source. */
export function aggregatorSource(fn: RewardFn, labelMap: RewardFnLabelMap): RewardSource<ScoredSample> {
  // The function of a file already is a source: it runs in the process of the file.
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
