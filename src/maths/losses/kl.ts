import { z } from 'zod'
import { klEstimators, tokenKl } from '../advantages/kl.js'
import { resolveOptions } from '../options.js'
import {
  aggregationShape,
  checkTokenTotals,
  refineAggregation,
  type TokenTotals,
  tokenCoefficient,
} from './aggregation.js'
import { checkTokenGradient, checkTokenInputs, type Named } from './inputs.js'

export const klLossSchema = z
  .strictObject({
    klEstimator: z.enum(klEstimators).default('k3').describe('per-token KL estimator: k1, k2 or k3'),
    ...aggregationShape,
  })
  .superRefine(refineAggregation)
type KlLossOptions = z.input<typeof klLossSchema>

interface KlSample extends Named {
  /** Of the policy being trained, and of the reference. */
  readonly logprobs: ArrayLike<number>
  readonly refLogprobs: ArrayLike<number>
}

interface KlLossResult {
  readonly value: number
  readonly gradients: readonly { readonly logprobs: Float64Array }[]
  readonly statistics: { readonly tokens: number }
}

/**
 * KL to the reference as a loss: the aggregate of k1, k2 or k3 with its gradient through the policy's log-probabilities.
 *
 * @example
 * klLoss({ samples: [{ logprobs: [-1], refLogprobs: [-1.2] }], totals: tokenTotals([1]), options: { klEstimator: 'k2' } })
 * // value 0.02, gradient 0.2
 */
export function klLoss(call: {
  samples: readonly KlSample[]
  totals: TokenTotals
  options: KlLossOptions
}): KlLossResult {
  return resolvedKlLoss({ ...call, options: resolveOptions('kl', klLossSchema, call.options) })
}

export function resolvedKlLoss(call: {
  samples: readonly KlSample[]
  totals: TokenTotals
  options: Pick<z.output<typeof klLossSchema>, 'klEstimator' | 'aggregation' | 'maxNewTokens'>
}): KlLossResult {
  const { samples, totals, options } = call
  const { klEstimator: estimator } = options
  checkTokenInputs(samples, { needed: ['logprobs', 'refLogprobs'] })
  const lengths = samples.map(({ logprobs }) => logprobs.length)
  checkTokenTotals(totals, lengths)
  let value = 0
  const gradients = samples.map((sample, place) => {
    const { logprobs, refLogprobs } = sample
    const { length } = logprobs
    const coefficient = tokenCoefficient(length, totals, options)
    const kl = tokenKl({ logprobs, refLogprobs, estimator })
    const gradient = new Float64Array(length)
    let sum = 0
    for (let t = 0; t < length; t++) {
      const d = logprobs[t]! - refLogprobs[t]!
      sum += kl[t]!
      // The derivatives 1, d and 1 - exp(-d); the last is d - k3.
      gradient[t] = coefficient * (estimator === 'k1' ? 1 : estimator === 'k2' ? d : d - kl[t]!)
    }
    checkTokenGradient(sample, place, gradient, sum)
    value += coefficient * sum
    return { logprobs: gradient }
  })
  return { value, gradients, statistics: { tokens: lengths.reduce((a, b) => a + b, 0) } }
}
