import { z } from 'zod'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import { resolveOptions } from './options.js'
import { sigmoid } from './sigmoid.js'
import { mergeStatistics, share } from './statistics.js'

export const ktoLossSchema = z.strictObject({
  beta: z.number().positive().default(0.1).describe('strength of the penalty for moving away from the reference'),
  desirableWeight: z.number().min(0).default(1).describe('loss weight of desirable responses'),
  undesirableWeight: z.number().min(0).default(1).describe('loss weight of undesirable responses'),
})
export type KtoLossOptions = z.input<typeof ktoLossSchema>

/** Log-probabilities of a whole response, summed over its tokens. */
export interface ResponseLogprobs extends Named {
  readonly policy: number
  readonly ref: number
}

export interface KtoSample extends ResponseLogprobs {
  readonly desirable: boolean
}

/** Responses of the whole batch, and the point of reference that all of them are compared with. */
export interface KtoTotals {
  readonly responses: number
  readonly z0: number
}

/**
 * The totals of a batch. `mismatched` are the log-probabilities of responses under prompts of others, by the policy as it is
 * before the step: an estimate of its KL to the reference, taken as a constant.
 *
 * @example
 * ktoTotals({ responses: 2, mismatched: [{ policy: -9, ref: -10 }, { policy: -8, ref: -8.5 }] }) // { responses: 2, z0: 0.75 }
 */
export function ktoTotals(batch: { responses: number; mismatched: readonly ResponseLogprobs[] }): KtoTotals {
  const { responses, mismatched } = batch
  if (mismatched.length === 0) throw new RangeError('kto: z0 is a mean over mismatched pairs, and the batch has none')
  checkNumberInputs(mismatched, ['policy', 'ref'])
  const sum = mismatched.reduce((sum, { policy, ref }) => sum + (policy - ref), 0)
  return { responses, z0: Math.max(0, sum / mismatched.length) }
}

export interface KtoStatistics {
  readonly desirable: number
  readonly undesirable: number
  /** Mean implicit rewards, beta (policy - reference). */
  readonly desirableRewardMean: number
  readonly undesirableRewardMean: number
}

export function mergeKtoStatistics(parts: readonly KtoStatistics[]): KtoStatistics {
  return mergeStatistics(parts, {
    desirable: 'sum',
    undesirable: 'sum',
    desirableRewardMean: 'desirable',
    undesirableRewardMean: 'undesirable',
  })
}

export interface KtoLossResult {
  readonly value: number
  /** With respect to a response's sum, which is the gradient of each of its tokens' log-probabilities. */
  readonly gradients: readonly { readonly policy: number }[]
  readonly statistics: KtoStatistics
}

/** Responses that are labelled one by one: raised above z0 where they are desirable, lowered where they are not. */
export function ktoLoss(call: {
  samples: readonly KtoSample[]
  totals: KtoTotals
  options: KtoLossOptions
}): KtoLossResult {
  const { samples, totals } = call
  const { beta, desirableWeight, undesirableWeight } = resolveOptions('kto', ktoLossSchema, call.options)
  checkNumberInputs(samples, ['policy', 'ref'])
  checkTotal('responses', totals.responses, samples.length)
  if (!(totals.z0 >= 0 && totals.z0 < Number.POSITIVE_INFINITY))
    throw new RangeError(`totals: z0 is 0 or more, not ${totals.z0}`)
  const coefficient = 1 / totals.responses
  let [value, desirable, desirableSum, undesirableSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const d = sample.policy - sample.ref
    const direction = sample.desirable ? 1 : -1
    const weight = sample.desirable ? desirableWeight : undesirableWeight
    // 1 - sigmoid(x) is sigmoid(-x), which keeps its digits where it is small.
    const x = direction * beta * (d - totals.z0)
    const loss = weight * sigmoid(-x)
    const slope = -direction * weight * beta * sigmoid(x) * sigmoid(-x)
    checkNumberGradient(sample, place, loss, slope)
    value += coefficient * loss
    if (sample.desirable) {
      desirable++
      desirableSum += beta * d
    } else undesirableSum += beta * d
    return { policy: coefficient * slope }
  })
  const undesirable = samples.length - desirable
  return {
    value,
    gradients,
    statistics: {
      desirable,
      undesirable,
      desirableRewardMean: share(desirableSum, desirable),
      undesirableRewardMean: share(undesirableSum, undesirable),
    },
  }
}
