import { z } from 'zod'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import { resolveOptions } from './options.js'
import { logSigmoid, sigmoid } from './sigmoid.js'
import { mergeStatistics, share } from './statistics.js'

export const rewardModelLossSchema = z.strictObject({
  margin: z.number().min(0).default(0).describe('wanted difference between the scores of a pair'),
  rankingWeight: z.number().min(0).default(1).describe('weight of the ranking term, which uses the margin'),
  contrastiveWeight: z
    .number()
    .min(0)
    .default(0)
    .describe('weight of the contrastive term: cross-entropy over scores / temperature'),
  temperature: z.number().positive().default(1).describe('temperature of the contrastive term'),
  centerCoef: z
    .number()
    .min(0)
    .default(0)
    .describe('weight of the penalty (chosen + rejected)², which keeps scores near 0'),
})
export type RewardModelLossOptions = z.input<typeof rewardModelLossSchema>

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

/**
 * The ranking loss of a reward model: the mean of -log sigmoid(chosen - rejected - margin), plus `centerCoef` times the square of
 * chosen + rejected, which keeps scores near 0. With a `contrastiveWeight`, -log sigmoid((chosen - rejected) / temperature) too.
 *
 * @example
 * rewardModelLoss({ samples: [{ chosen: 1, rejected: 0 }], totals: { pairs: 1 }, options: {} }).value // 0.3133
 */
export function rewardModelLoss(call: {
  samples: readonly ScoredPair[]
  totals: PairTotals
  options: RewardModelLossOptions
}): RewardModelLossResult {
  const { totals } = call
  const { margin, centerCoef, rankingWeight, contrastiveWeight, temperature } = resolveOptions(
    'reward-model',
    rewardModelLossSchema,
    call.options,
  )
  const samples = call.samples.map(sample => ({ ...sample, margin: sample.margin ?? margin }))
  checkNumberInputs(samples, ['chosen', 'rejected', 'margin'])
  checkTotal('pairs', totals.pairs, samples.length)
  const coefficient = 1 / totals.pairs
  let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const { chosen, rejected } = sample
    const distance = chosen - rejected - sample.margin
    const sum = chosen + rejected
    const contrast = (chosen - rejected) / temperature
    const loss =
      -rankingWeight * logSigmoid(distance) - contrastiveWeight * logSigmoid(contrast) + centerCoef * sum * sum
    const pull = rankingWeight * sigmoid(-distance) + (contrastiveWeight / temperature) * sigmoid(-contrast)
    const center = 2 * centerCoef * sum
    checkNumberGradient(sample, place, loss, center)
    value += coefficient * loss
    if (chosen > rejected) right++
    chosenSum += chosen
    rejectedSum += rejected
    return { chosen: coefficient * (center - pull), rejected: coefficient * (center + pull) }
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
