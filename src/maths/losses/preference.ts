import { z } from 'zod'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import { resolveOptions } from './options.js'
import type { PairTotals } from './reward-model.js'
import { logSigmoid, sigmoid } from './sigmoid.js'
import { mergeStatistics, share } from './statistics.js'

const beta = z.number().positive().default(0.1).describe('strength of the penalty for moving away from the reference')

/** The options of each loss on pairs. */
export const preferenceSchemas = {
  dpo: z.strictObject({
    beta,
    labelSmoothing: z.number().min(0).lt(0.5).default(0).describe('assumed share of pairs with a wrong label'),
  }),
  cdpo: z.strictObject({
    beta,
    labelSmoothing: z.number().gt(0).lt(0.5).describe('assumed share of pairs with a wrong label, above 0'),
  }),
  ipo: z.strictObject({
    beta,
    ipoLogprobs: z
      .enum(['mean', 'sum'])
      .default('mean')
      .describe('log-probability of a response: the mean over its tokens (as in the paper and in TRL), or the sum'),
  }),
} as const

export type PreferenceLossName = keyof typeof preferenceSchemas
/** As a user writes them; `loss` says which. */
export type PreferenceLossOptions = {
  [L in PreferenceLossName]: { readonly loss: L } & Readonly<z.input<(typeof preferenceSchemas)[L]>>
}[PreferenceLossName]

/** Log-probabilities of whole responses, summed over their tokens. */
export interface PreferencePair extends Named {
  readonly policyChosen: number
  readonly policyRejected: number
  readonly refChosen: number
  readonly refRejected: number
  /** How many tokens each response has; means per token need it. */
  readonly chosenTokens?: number | undefined
  readonly rejectedTokens?: number | undefined
}

export interface PreferenceStatistics {
  readonly pairs: number
  /** Share of the pairs whose implicit reward, beta (policy - reference), is higher for the chosen response. */
  readonly accuracy: number
  readonly chosenRewardMean: number
  readonly rejectedRewardMean: number
}

export function mergePreferenceStatistics(parts: readonly PreferenceStatistics[]): PreferenceStatistics {
  return mergeStatistics(parts, {
    pairs: 'sum',
    accuracy: 'pairs',
    chosenRewardMean: 'pairs',
    rejectedRewardMean: 'pairs',
  })
}

export interface PreferenceLossResult {
  readonly value: number
  /** With respect to a response's sum, which is the gradient of each of its tokens' log-probabilities. */
  readonly gradients: readonly { readonly policyChosen: number; readonly policyRejected: number }[]
  readonly statistics: PreferenceStatistics
}

/**
 * Direct preference optimisation and its relatives, the mean over the pairs of a batch.
 *
 * @example
 * const samples = [{ policyChosen: -10, policyRejected: -12, refChosen: -11, refRejected: -11 }]
 * preferenceLoss({ samples, totals: { pairs: 1 }, options: { loss: 'dpo', beta: 0.1 } }).value // 0.5981
 */
export function preferenceLoss(call: {
  samples: readonly PreferencePair[]
  totals: PairTotals
  options: PreferenceLossOptions
}): PreferenceLossResult {
  const { samples, totals, options } = call
  const { loss, ...given } = options
  const schema = preferenceSchemas[loss]
  if (!schema)
    throw new RangeError(
      `there is no preference loss "${loss}"; there are ${Object.keys(preferenceSchemas).join(', ')}`,
    )
  const resolved = resolveOptions<z.ZodObject>(loss, schema, given) as {
    beta: number
    labelSmoothing?: number
    ipoLogprobs?: 'mean' | 'sum'
  }
  const { beta, labelSmoothing = 0, ipoLogprobs } = resolved
  const term = loss === 'ipo' ? (l: number) => ipo(l, beta) : (l: number) => dpo(l, beta, labelSmoothing)
  checkNumberInputs(samples, ['policyChosen', 'policyRejected', 'refChosen', 'refRejected'])
  const perToken = ipoLogprobs === 'mean'
  if (perToken) checkCounts(samples)
  checkTotal('pairs', totals.pairs, samples.length)
  const coefficient = 1 / totals.pairs
  let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const chosen = sample.policyChosen - sample.refChosen
    const rejected = sample.policyRejected - sample.refRejected
    const chosenWeight = perToken ? 1 / sample.chosenTokens! : 1
    const rejectedWeight = perToken ? 1 / sample.rejectedTokens! : 1
    const one = term(chosenWeight * chosen - rejectedWeight * rejected)
    checkNumberGradient(sample, place, one.value, one.slope)
    value += coefficient * one.value
    if (chosen > rejected) right++
    chosenSum += beta * chosen
    rejectedSum += beta * rejected
    return {
      policyChosen: coefficient * one.slope * chosenWeight,
      policyRejected: -coefficient * one.slope * rejectedWeight,
    }
  })
  const pairs = samples.length
  return {
    value,
    gradients,
    statistics: {
      pairs,
      accuracy: share(right, pairs),
      chosenRewardMean: share(chosenSum, pairs),
      rejectedRewardMean: share(rejectedSum, pairs),
    },
  }
}

function checkCounts(samples: readonly PreferencePair[]): void {
  for (const [place, sample] of samples.entries())
    for (const field of ['chosenTokens', 'rejectedTokens'] as const) {
      const count = sample[field]
      if (Number.isSafeInteger(count) && count! >= 1) continue
      const found = count === undefined ? 'missing' : `expected an integer of at least 1, got ${count}`
      throw new RangeError(`sample ${sample.name ?? place}: ${field}: ${found}; ipoLogprobs mean divides by it`)
    }
}

/** Of the difference l between the log-ratios of chosen and rejected: the loss and its derivative. */
interface Term {
  readonly value: number
  readonly slope: number
}

function dpo(l: number, beta: number, labelSmoothing: number): Term {
  const x = beta * l
  return {
    value: -(1 - labelSmoothing) * logSigmoid(x) - labelSmoothing * logSigmoid(-x),
    slope: beta * (labelSmoothing * sigmoid(x) - (1 - labelSmoothing) * sigmoid(-x)),
  }
}

function ipo(l: number, beta: number): Term {
  const distance = l - 1 / (2 * beta)
  return { value: distance * distance, slope: 2 * distance }
}
