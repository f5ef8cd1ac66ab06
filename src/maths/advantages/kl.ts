import { mean } from './moments.js'

/** How the divergence from the reference is estimated from the sampled token, d = logprob - reference logprob. */
export const klEstimators = ['k1', 'k2', 'k3'] as const
export type KlEstimator = (typeof klEstimators)[number]

/**
 * KL per token: k1 = d (unbiased, may be negative), k2 = d²/2, k3 = exp(-d) - 1 + d (unbiased, never negative).
 *
 * @example
 * tokenKl({ logprobs: [-1, -0.5], refLogprobs: [-1.2, -0.4], estimator: 'k1' }) // 0.2, -0.1
 */
export function tokenKl(options: {
  logprobs: ArrayLike<number>
  refLogprobs: ArrayLike<number>
  estimator: KlEstimator
}): Float64Array {
  const { logprobs, refLogprobs, estimator } = options
  const length = logprobs.length
  if (refLogprobs.length !== length)
    throw new RangeError(`${length} log-probabilities, and ${refLogprobs.length} of the reference`)
  const kl = new Float64Array(length)
  for (let t = 0; t < length; t++) kl[t] = logprobs[t]! - refLogprobs[t]!
  if (estimator === 'k2') for (let t = 0; t < length; t++) kl[t] = (kl[t]! * kl[t]!) / 2
  // expm1, because near d = 0 exp(-d) - 1 loses almost all digits, and k3 would become negative.
  else if (estimator === 'k3') for (let t = 0; t < length; t++) kl[t] = Math.expm1(-kl[t]!) + kl[t]!
  return kl
}

/** The measured KL of a rollout: the mean over samples of the mean over tokens. The adaptive controller sees this one. */
export function meanKl(kl: readonly ArrayLike<number>[]): number {
  return mean(kl.map(mean))
}
