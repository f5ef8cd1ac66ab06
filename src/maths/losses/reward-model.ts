import { resolveOptions } from '../options.js'
import type { RewardModelLossDefinition } from './define-loss.js'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import { mergeStatistics, share } from './statistics.js'

/** The scores of a pair. */
export interface ScoredPair extends Named {
  readonly chosen: number
  readonly rejected: number
  /** Of this pair, in place of the option's: annotators may say how much better one is. */
  readonly margin?: number | undefined
}

/** Pairs of the whole batch. */
export interface PairTotals {
  readonly pairs: number
}

export interface RewardModelStatistics {
  readonly pairs: number
  /** Share of the pairs whose chosen response has the higher score. */
  readonly accuracy: number
  readonly chosenMean: number
  readonly rejectedMean: number
}

export function mergeRewardModelStatistics(parts: readonly RewardModelStatistics[]): RewardModelStatistics {
  return mergeStatistics(parts, { pairs: 'sum', accuracy: 'pairs', chosenMean: 'pairs', rejectedMean: 'pairs' })
}

export interface RewardModelLossResult {
  readonly value: number
  readonly gradients: readonly { readonly chosen: number; readonly rejected: number }[]
  readonly statistics: RewardModelStatistics
}

/** Another loss in its place: values and gradients of a part of the batch, `totals` being those of the whole. */
export type PairLoss = (call: { samples: readonly ScoredPair[]; totals: PairTotals }) => RewardModelLossResult

/** The mean over the pairs of a batch, of what the loss says of each. */
export function computeRewardModelLoss(
  definition: RewardModelLossDefinition,
  call: { samples: readonly ScoredPair[]; totals: PairTotals; options: object },
): RewardModelLossResult {
  const { samples, totals } = call
  const options = resolveOptions(definition.name, definition.options, call.options as never)
  checkNumberInputs(samples, ['chosen', 'rejected'])
  checkNumberInputs(
    samples.filter(({ margin }) => margin !== undefined),
    ['margin'],
  )
  checkTotal('pairs', totals.pairs, samples.length)
  const coefficient = 1 / totals.pairs
  let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const { chosen, rejected, margin } = sample
    const one = definition.loss({ chosen, rejected, margin }, options)
    checkNumberGradient(sample, place, one.value, one.chosen, one.rejected)
    value += coefficient * one.value
    if (chosen > rejected) right++
    chosenSum += chosen
    rejectedSum += rejected
    return { chosen: coefficient * one.chosen, rejected: coefficient * one.rejected }
  })
  const pairs = samples.length
  return {
    value,
    gradients,
    statistics: {
      pairs,
      accuracy: share(right, pairs),
      chosenMean: share(chosenSum, pairs),
      rejectedMean: share(rejectedSum, pairs),
    },
  }
}
