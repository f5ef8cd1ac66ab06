import { resolveOptions } from '../options.js'
import type { PreferenceLossDefinition } from './define-loss.js'
import { checkNumberGradient, checkNumberInputs, checkTotal, type Named } from './inputs.js'
import type { PairTotals } from './reward-model.js'
import { mergeStatistics, share } from './statistics.js'

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

/** The mean over the pairs of a batch, of what the loss says of each. */
export function computePreferenceLoss(
  definition: PreferenceLossDefinition,
  call: { samples: readonly PreferencePair[]; totals: PairTotals; options: object },
): PreferenceLossResult {
  const { samples, totals } = call
  const options: Record<string, unknown> = resolveOptions(definition.name, definition.options, call.options as never)
  // Implicit rewards are scaled by it, where a loss has it.
  const beta = typeof options.beta === 'number' ? options.beta : 1
  checkNumberInputs(samples, ['policyChosen', 'policyRejected', 'refChosen', 'refRejected'])
  const perToken = definition.logprobs?.(options) === 'mean'
  if (perToken) checkCounts(samples)
  checkTotal('pairs', totals.pairs, samples.length)
  const coefficient = 1 / totals.pairs
  let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0]
  const gradients = samples.map((sample, place) => {
    const chosen = sample.policyChosen - sample.refChosen
    const rejected = sample.policyRejected - sample.refRejected
    const chosenWeight = perToken ? 1 / sample.chosenTokens! : 1
    const rejectedWeight = perToken ? 1 / sample.rejectedTokens! : 1
    const one = definition.loss(
      {
        chosen: chosenWeight * chosen,
        rejected: rejectedWeight * rejected,
        policyChosen: chosenWeight * sample.policyChosen,
        policyRejected: rejectedWeight * sample.policyRejected,
      },
      options,
    )
    checkNumberGradient(sample, place, one.value, one.chosen, one.rejected)
    value += coefficient * one.value
    if (chosen > rejected) right++
    chosenSum += beta * chosen
    rejectedSum += beta * rejected
    return {
      policyChosen: coefficient * one.chosen * chosenWeight,
      policyRejected: coefficient * one.rejected * rejectedWeight,
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
      throw new RangeError(`sample ${sample.name ?? place}: ${field}: ${found}; a mean over its tokens divides by it`)
    }
}
