import { type Aggregated, type AggregatedPair, aggregatedOf, answersOf } from './aggregated.js'
import type { RewardInput } from './input.js'
import { defaultLimits, type LimitOptions, type RewardAnswer, type RewardSource, resolveLimits } from './source.js'

type MaybePromise<T> = T | Promise<T>

/** A reward of one sample. */
export type SampleReward = (input: RewardInput, options: { signal: AbortSignal }) => MaybePromise<RewardAnswer>

/** The rewards of many samples, one each and in their order; or with metrics of each or of all, as an aggregator gives them. */
export type BatchReward = (
  inputs: readonly RewardInput[],
  options: { signal: AbortSignal },
) => MaybePromise<ArrayLike<RewardAnswer> | Aggregated | AggregatedPair>

/**
 * LightRFT's `custom_reward_func`: texts of prompt and response together, prompts, labels. The records themselves come last,
 * for functions that grade the response alone.
 */
export type CustomRewardFunc = (
  queries: readonly string[],
  prompts: readonly string[],
  labels: readonly (string | undefined)[],
  inputs: readonly RewardInput[],
) => MaybePromise<ArrayLike<RewardAnswer> | Aggregated | AggregatedPair>

export interface FunctionOptions extends LimitOptions {
  /** Default: the function's own name. */
  readonly name?: string
}

/**
 * A reward from a function of one sample, sync or async.
 *
 * @example
 * const brief = sampleReward(({ response }) => (response.length < 400 ? 1 : 0), { name: 'brief' })
 */
export function sampleReward(fn: SampleReward, options: FunctionOptions = {}): RewardSource {
  const { name = fn.name || 'reward', ...limits } = options
  // Its own size of batches is no choice here: an answer belongs to one sample.
  return {
    name,
    kind: 'function',
    limits: resolveLimits(name, defaultLimits.function, { ...limits, batchSize: 1 }),
    text: String(fn),
    score: async ([input], context) => [await fn(input!, context)],
  }
}

/** A reward from a function of many samples; `batchSize` bounds how many. */
export function batchReward(fn: BatchReward, options: FunctionOptions = {}): RewardSource {
  const { name = fn.name || 'reward', ...limits } = options
  return {
    name,
    kind: 'function',
    limits: resolveLimits(name, defaultLimits.batchFunction, limits),
    text: String(fn),
    score: async (inputs, context) => {
      const given = await fn(inputs, context)
      const aggregated = aggregatedOf(given)
      // What else a function may return is for the caller to judge.
      return aggregated ? answersOf(aggregated, inputs.length) : (given as ArrayLike<RewardAnswer>)
    },
  }
}

/** A reward from a function with LightRFT's arguments. */
export function customReward(fn: CustomRewardFunc, options: FunctionOptions = {}): RewardSource {
  const asBatch: BatchReward = inputs =>
    fn(
      inputs.map(input => input.query),
      inputs.map(input => input.promptRaw),
      inputs.map(input => input.label),
      inputs,
    )
  const source = batchReward(asBatch, { ...options, name: options.name ?? (fn.name || 'customRewardFunc') })
  return { ...source, text: String(fn) }
}
