import { clipInPlace } from './clip.js'
import { type AdvantageEstimator, estimatorTraits } from './estimators.js'
import { normalizationEpsilon } from './shaping.js'
import { tokenStatistics } from './statistics.js'

/** One number per token of a response each. */
export interface TokenAdvantages {
  readonly advantages: Float64Array
  readonly returns: Float64Array
}

/**
 * Generalised advantage estimation. Nothing is expected after the last token, whether the response ended by itself or was cut.
 *
 * @example
 * gaeAdvantages({ rewards: [-0.02, 1.01], values: [0.2, 0.4], gamma: 1, lambd: 0.95 }) // advantages 0.7595, 0.61
 */
export function gaeAdvantages(options: {
  rewards: ArrayLike<number>
  values: ArrayLike<number>
  gamma: number
  lambd: number
}): TokenAdvantages {
  const { rewards, values, gamma, lambd } = options
  const length = rewards.length
  if (values.length !== length) throw new RangeError(`${length} rewards, and ${values.length} values`)
  const advantages = new Float64Array(length)
  const returns = new Float64Array(length)
  let nextValue = 0
  let advantage = 0
  for (let t = length - 1; t >= 0; t--) {
    const value = values[t]!
    advantage = rewards[t]! + gamma * nextValue - value + gamma * lambd * advantage
    advantages[t] = advantage
    returns[t] = advantage + value
    nextValue = value
  }
  return { advantages, returns }
}

/** What a response still earns from each token on. */
export function discountedReturns(rewards: ArrayLike<number>, gamma: number): Float64Array {
  const returns = new Float64Array(rewards.length)
  let following = 0
  for (let t = rewards.length - 1; t >= 0; t--) {
    following = rewards[t]! + gamma * following
    returns[t] = following
  }
  return returns
}

/**
 * Advantages and returns of one response by the estimator's name, from its token rewards (the group's comparison is in them
 * already). Arrays of their own: what changes advantages afterwards leaves returns alone.
 */
export function advantagesAndReturns(options: {
  estimator: AdvantageEstimator
  rewards: ArrayLike<number>
  /** The critic's, per token; for `gae` alone. */
  values?: ArrayLike<number> | undefined
  gamma: number
  lambd: number
}): TokenAdvantages {
  const { estimator, rewards, values, gamma, lambd } = options
  const traits = estimatorTraits(estimator)
  if (traits.values === 'needed') {
    if (!values) throw new RangeError(`${estimator} needs the values of a critic`)
    return gaeAdvantages({ rewards, values, gamma, lambd })
  }
  const returns = discountedReturns(rewards, traits.gamma === 'one' ? 1 : gamma)
  return { advantages: returns.slice(), returns }
}

/**
 * Brings the advantages of a whole rollout, `advantages[sample][token]`, to mean 0 and standard deviation 1 over all its tokens,
 * in place. The one normalisation there is; where all advantages are equal they become 0.
 */
export function whitenInPlace(advantages: readonly Float64Array[]): void {
  const statistics = tokenStatistics(advantages)
  if (!statistics) return
  const { mean, std, min, max } = statistics
  const scale = std + normalizationEpsilon
  for (const tokens of advantages) {
    if (min === max) tokens.fill(0)
    else for (let t = 0; t < tokens.length; t++) tokens[t] = (tokens[t]! - mean) / scale
  }
}

/** Clamps `advantages[sample][token]` to ±limit in place; answers with the share of tokens that lay outside. */
export function clipAdvantagesInPlace(advantages: readonly Float64Array[], limit: number): number {
  let clipped = 0
  let tokens = 0
  for (const values of advantages) {
    clipped += clipInPlace(values, limit)
    tokens += values.length
  }
  return tokens === 0 ? 0 : clipped / tokens
}
