import { highEntropyMask } from '../advantages/entropy-filter.js'
import { resolveOptions } from '../options.js'
import { checkTokenTotals, type TokenTotals, tokenCoefficient } from './aggregation.js'
import type { PolicyLossDefinition } from './define-loss.js'
import { type ImportanceCounts, importanceWeights } from './importance.js'
import { checkFlags, checkTokenGradient, checkTokenInputs, type Named } from './inputs.js'
import type { ResolvedPolicyOptions } from './policy-options.js'
import type { ClipCounts } from './policy-tokens.js'
import { type Merging, mergeStatistics, share } from './statistics.js'

/** One response; arrays have one number per sampled token. */
export interface PolicySample extends Named {
  /** Of the policy being trained. */
  readonly logprobs: ArrayLike<number>
  /**
   * The trainer's own, of the policy that sampled. Left out, the ratio is exactly 1: right for the one optimiser step of a rollout
   * that takes no more than one.
   */
  readonly oldLogprobs?: ArrayLike<number> | undefined
  readonly advantages: ArrayLike<number>
  /** Of the distribution the engine sampled from; needed with `tisCap`. */
  readonly engineLogprobs?: ArrayLike<number> | undefined
  /** 1 for tokens whose distribution the sampler was told to change (`alteredTokens`): their importance weight is 1. */
  readonly altered?: ArrayLike<number> | undefined
  /** Of the policy being trained; needed with `highEntropyTokenRatio`. */
  readonly entropies?: ArrayLike<number> | undefined
  /** 1 for the tokens whose policy loss is taken, as experience has it; without it all, or those `highEntropyTokenRatio` keeps. */
  readonly lossMask?: ArrayLike<number> | undefined
}

/** Over the samples of a call; `mergePolicyStatistics` makes those of a batch from its parts. */
export interface PolicyStatistics {
  readonly sequences: number
  readonly tokens: number
  /** Tokens whose policy loss is taken. */
  readonly keptTokens: number
  /** Shares of the kept tokens whose ratio was clipped, from below, from above, and by `dualClip`. */
  readonly clipLowShare: number
  readonly clipHighShare: number
  readonly dualClipShare: number
  /** Of the old policy to the one being trained: the mean over tokens of rho - 1 - log rho, never negative. */
  readonly approxKl: number
  readonly ratioMean: number
  readonly ratioMax: number
  /** With `tisCap`: the mean weight, the share of tokens cut to the cap, and how many had weight 1 as altered ones. */
  readonly importanceMean?: number
  readonly importanceCappedShare?: number
  readonly importanceAltered?: number
}

const merging: Merging<PolicyStatistics> = {
  sequences: 'sum',
  tokens: 'sum',
  keptTokens: 'sum',
  clipLowShare: 'keptTokens',
  clipHighShare: 'keptTokens',
  dualClipShare: 'keptTokens',
  approxKl: 'tokens',
  ratioMean: 'tokens',
  ratioMax: 'max',
  importanceMean: 'tokens',
  importanceCappedShare: 'tokens',
  importanceAltered: 'sum',
}

export function mergePolicyStatistics(parts: readonly PolicyStatistics[]): PolicyStatistics {
  const { importanceAltered, ...merged } = mergeStatistics(parts, merging)
  return merged.importanceMean === undefined ? merged : { ...merged, importanceAltered: importanceAltered! }
}

export interface PolicyLossResult {
  /** These samples' part of the batch's loss: parts add up. */
  readonly value: number
  /** In the order of the samples. */
  readonly gradients: readonly { readonly logprobs: Float64Array }[]
  readonly statistics: PolicyStatistics
}

/** The policy loss of some responses of a batch and its gradient with respect to their log-probabilities. */
export function computePolicyLoss(
  definition: PolicyLossDefinition,
  call: { samples: readonly PolicySample[]; totals: TokenTotals; options: object },
): PolicyLossResult {
  const options = resolveOptions(definition.name, definition.schema, call.options as never)
  return resolvedPolicyLoss(definition, { ...call, options: options as ResolvedPolicyOptions })
}

/** With options that have been through their schema. */
export function resolvedPolicyLoss(
  definition: PolicyLossDefinition,
  call: { samples: readonly PolicySample[]; totals: TokenTotals; options: ResolvedPolicyOptions },
): PolicyLossResult {
  const { samples, totals, options } = call
  check(samples, totals, definition.name, options)
  const longest = samples.reduce((longest, { logprobs }) => Math.max(longest, logprobs.length), 0)
  const logRatios = new Float64Array(longest)
  const ratios = new Float64Array(longest)
  const coefficients = new Float64Array(longest)
  const clipped: ClipCounts = { low: 0, high: 0, dual: 0 }
  const importance: ImportanceCounts = { sum: 0, capped: 0, altered: 0 }
  let [value, tokens, keptTokens, ratioSum, ratioMax, klSum] = [0, 0, 0, 0, 0, 0]

  const gradients = samples.map((sample, place) => {
    const { logprobs, oldLogprobs = logprobs, advantages } = sample
    const { length } = logprobs
    const moved = fillRatios({ logprobs, oldLogprobs, logRatios, ratios })
    ratioSum += moved.sum
    ratioMax = Math.max(ratioMax, moved.max)
    klSum += moved.kl
    tokens += length
    keptTokens += fillCoefficients(sample, { coefficients, importance, totals, options })
    const gradient = new Float64Array(length)
    const response = { length, logprobs, advantages, logRatios, ratios, coefficients, gradient, counts: clipped }
    const part = definition.loss(response, options)
    checkTokenGradient(sample, place, gradient, part)
    value += part
    return { logprobs: gradient }
  })

  const statistics: PolicyStatistics = {
    sequences: samples.length,
    tokens,
    keptTokens,
    clipLowShare: share(clipped.low, keptTokens),
    clipHighShare: share(clipped.high, keptTokens),
    dualClipShare: share(clipped.dual, keptTokens),
    approxKl: share(klSum, tokens),
    ratioMean: share(ratioSum, tokens),
    ratioMax,
    ...(options.tisCap === null
      ? {}
      : {
          importanceMean: share(importance.sum, tokens),
          importanceCappedShare: share(importance.capped, tokens),
          importanceAltered: importance.altered,
        }),
  }
  return { value, gradients, statistics }
}

/** The ratios of a response, and what statistics need of them. */
function fillRatios(response: {
  logprobs: ArrayLike<number>
  oldLogprobs: ArrayLike<number>
  logRatios: Float64Array
  ratios: Float64Array
}): { sum: number; max: number; kl: number } {
  const { logprobs, oldLogprobs, logRatios, ratios } = response
  let [sum, max, kl] = [0, 0, 0]
  for (let t = 0; t < logprobs.length; t++) {
    const d = logprobs[t]! - oldLogprobs[t]!
    const ratio = Math.exp(d)
    logRatios[t] = d
    ratios[t] = ratio
    sum += ratio
    if (ratio > max) max = ratio
    // Rounding can leave a ratio next to 1 a little below its tangent.
    kl += Math.max(0, ratio - 1 - d)
  }
  return { sum, max, kl }
}

/** What each token's loss counts, and how many count at all. */
function fillCoefficients(
  sample: PolicySample,
  batch: {
    coefficients: Float64Array
    importance: ImportanceCounts
    totals: TokenTotals
    options: ResolvedPolicyOptions
  },
): number {
  const { coefficients, importance, totals, options } = batch
  const { length } = sample.logprobs
  const coefficient = tokenCoefficient(length, totals, options)
  const { tisCap, highEntropyTokenRatio: ratio } = options
  if (tisCap === null) coefficients.fill(coefficient, 0, length)
  else {
    const { oldLogprobs, engineLogprobs, altered } = sample
    const counts = importance
    importanceWeights({
      oldLogprobs: oldLogprobs!,
      engineLogprobs: engineLogprobs!,
      altered,
      tisCap,
      weights: coefficients,
      counts,
    })
    for (let t = 0; t < length; t++) coefficients[t]! *= coefficient
  }
  const mask = sample.lossMask ?? (isFilter(ratio) ? highEntropyMask(sample.entropies!, ratio) : undefined)
  if (!mask) return length
  let kept = 0
  for (let t = 0; t < length; t++)
    if (mask[t]) kept++
    else coefficients[t] = 0
  return kept
}

const isFilter = (highEntropyTokenRatio: number) => highEntropyTokenRatio > 0 && highEntropyTokenRatio < 1

function check(
  samples: readonly PolicySample[],
  totals: TokenTotals,
  name: string,
  options: ResolvedPolicyOptions,
): void {
  const { tisCap, highEntropyTokenRatio } = options
  const needed: [keyof PolicySample, ...(keyof PolicySample)[]] = ['logprobs', 'advantages']
  if (tisCap !== null) needed.push('oldLogprobs', 'engineLogprobs')
  if (isFilter(highEntropyTokenRatio)) needed.push('entropies')
  checkTokenInputs(samples, { needed, optional: ['oldLogprobs'] })
  checkFlags(samples, 'altered', 'logprobs')
  checkFlags(samples, 'lossMask', 'logprobs')
  if (isFilter(highEntropyTokenRatio) && samples.some(({ lossMask }) => lossMask))
    throw new RangeError(
      `${name}: samples have a lossMask, and highEntropyTokenRatio ${highEntropyTokenRatio} makes another; remove one of them`,
    )
  checkTokenTotals(
    totals,
    samples.map(({ logprobs }) => logprobs.length),
  )
}
