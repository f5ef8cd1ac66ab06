import { resolveOptions } from '../options.js'
import type { LabelledLossDefinition } from './define-loss.js'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import { mergeStatistics, share } from './statistics.js'

/** Log-probabilities of a whole response, summed over its tokens. */
interface ResponseLogprobs extends Named {
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

/** A loss with its options: values and gradients of a part of the batch, `totals` being those of the whole. */
export type LabelledLoss = (call: { samples: readonly KtoSample[]; totals: KtoTotals }) => KtoLossResult

/** The mean over the responses of a batch, of what the loss says of each. */
export function computeLabelledLoss(
  definition: LabelledLossDefinition,
  call: { samples: readonly KtoSample[]; totals: KtoTotals; options: object },
): KtoLossResult {
  const { samples, totals } = call
  const options: Record<string, unknown> = resolveOptions(definition.name, definition.options, call.options as never)
  // Implicit rewards are scaled by it, where a loss has it.
  const beta = typeof options.beta === 'number' ? options.beta : 1
  checkNumberInputs(samples, ['policy', 'ref'])
  checkTotal('responses', totals.responses, samples.length)
  if (!(totals.z0 >= 0 && totals.z0 < Number.POSITIVE_INFINITY))
    throw new RangeError(`totals: z0 is 0 or more, not ${totals.z0}`)
  const coefficient = 1 / totals.responses
  let [value, desirable, desirableSum, undesirableSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const d = sample.policy - sample.ref
    const { desirable: isDesirable } = sample
    const { value: loss, slope } = definition.loss({ logRatio: d, z0: totals.z0, desirable: isDesirable }, options)
    checkNumberGradient(sample, place, loss, slope)
    value += coefficient * loss
    if (isDesirable) {
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
