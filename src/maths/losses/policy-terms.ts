/**
 * The policy losses themselves, for one response. At a kink (a ratio exactly at a bound) every one of them takes the side of the
 * ratio that is not clipped: the gradient is there, and the token does not count as clipped.
 */
import type { ResolvedPolicyOptions } from './policy-options.js'

/** One response, and what its numbers count in the batch. The arrays are scratch memory and may be longer than `length`. */
export interface PolicyTokens {
  readonly length: number
  readonly logprobs: ArrayLike<number>
  readonly advantages: ArrayLike<number>
  /** d = lp - old, and exp(d). */
  readonly logRatios: Float64Array
  readonly ratios: Float64Array
  /** What each token's loss counts: its place in the aggregate, times its importance weight, 0 where it is filtered out. */
  readonly coefficients: Float64Array
  /** To be filled with the gradient with respect to the log-probabilities; zeros before. */
  readonly gradient: Float64Array
  readonly counts: ClipCounts
}

/** Tokens that count in the aggregate and were clipped. */
export interface ClipCounts {
  low: number
  high: number
  dual: number
}

/** The value of a response, the sum of coefficient times loss. */
export type PolicyTerm = (tokens: PolicyTokens) => number

export function policyTerm(options: ResolvedPolicyOptions): PolicyTerm {
  switch (options.loss) {
    case 'ppo':
      return tokens => ppo(tokens, options)
    case 'gspo':
      return tokens => gspo(tokens, options)
    case 'gmpo':
      return tokens => gmpo(tokens, options)
    case 'cispo':
      return tokens => cispo(tokens, options)
    case 'cpg':
      return tokens => cpg(tokens, options)
  }
}

function ppo(tokens: PolicyTokens, { clipLow, clipHigh, dualClip }: ResolvedPolicyOptions<'ppo'>): number {
  const { length, advantages, ratios, coefficients, gradient, counts } = tokens
  const low = 1 - clipLow
  const high = 1 + clipHigh
  const bound = dualClip ?? Number.POSITIVE_INFINITY
  let value = 0
  for (let t = 0; t < length; t++) {
    const coefficient = coefficients[t]!
    const advantage = advantages[t]!
    if (coefficient === 0 || advantage === 0) continue
    let ratio = ratios[t]!
    if (advantage > 0 && ratio > high) {
      ratio = high
      counts.high++
    } else if (advantage < 0 && ratio < low) {
      ratio = low
      counts.low++
    } else if (advantage < 0 && ratio > bound) {
      ratio = bound
      counts.dual++
    } else gradient[t] = -coefficient * ratio * advantage
    value -= coefficient * ratio * advantage
  }
  return value
}

/** One ratio for the whole response: each of its tokens has the response's loss, and a gradient even where its own loss is left out. */
function gspo(tokens: PolicyTokens, { clipLow, clipHigh }: ResolvedPolicyOptions<'gspo'>): number {
  const { length, advantages, logRatios, coefficients, gradient, counts } = tokens
  const advantage = mean(advantages, length)
  if (advantage === 0) return 0
  const { sum, kept } = total(coefficients, length)
  let ratio = Math.exp(mean(logRatios, length))
  if (advantage > 0 && ratio > 1 + clipHigh) {
    ratio = 1 + clipHigh
    counts.high += kept
  } else if (advantage < 0 && ratio < 1 - clipLow) {
    ratio = 1 - clipLow
    counts.low += kept
  } else gradient.fill((-sum * ratio * advantage) / length, 0, length)
  return -sum * ratio * advantage
}

/** The geometric mean of token ratios, each clipped on the side where clipping lowers the objective. */
function gmpo(tokens: PolicyTokens, { clipLow, clipHigh }: ResolvedPolicyOptions<'gmpo'>): number {
  const { length, advantages, logRatios, coefficients, gradient, counts } = tokens
  const advantage = mean(advantages, length)
  if (advantage === 0) return 0
  const { sum } = total(coefficients, length)
  const isClipped = advantage > 0 ? (d: number) => d > clipHigh : (d: number) => d < -clipLow
  const bound = advantage > 0 ? clipHigh : -clipLow
  let logRatio = 0
  for (let t = 0; t < length; t++) logRatio += isClipped(logRatios[t]!) ? bound : logRatios[t]!
  const value = -sum * Math.exp(logRatio / length) * advantage
  for (let t = 0; t < length; t++) {
    if (!isClipped(logRatios[t]!)) gradient[t] = value / length
    else if (coefficients[t] !== 0) counts[advantage > 0 ? 'high' : 'low']++
  }
  return value
}

/** The clipped ratio is a weight without gradient: no token's gradient is lost. */
function cispo(tokens: PolicyTokens, { clipLow, clipHigh }: ResolvedPolicyOptions<'cispo'>): number {
  const { length, logprobs, advantages, ratios, coefficients, gradient, counts } = tokens
  const low = 1 - clipLow
  const high = 1 + clipHigh
  let value = 0
  for (let t = 0; t < length; t++) {
    const coefficient = coefficients[t]!
    const advantage = advantages[t]!
    if (coefficient === 0 || advantage === 0) continue
    let weight = ratios[t]!
    if (weight < low) {
      weight = low
      counts.low++
    } else if (weight > high) {
      weight = high
      counts.high++
    }
    gradient[t] = -coefficient * weight * advantage
    value += gradient[t]! * logprobs[t]!
  }
  return value
}

function cpg(tokens: PolicyTokens, { clipLow, clipHigh, driftCoef }: ResolvedPolicyOptions<'cpg'>): number {
  const { length, logprobs, advantages, logRatios, coefficients, gradient, counts } = tokens
  const low = Math.log1p(-clipLow)
  const high = Math.log1p(clipHigh)
  let value = 0
  for (let t = 0; t < length; t++) {
    const coefficient = coefficients[t]!
    if (coefficient === 0) continue
    const advantage = advantages[t]!
    const d = logRatios[t]!
    let logprob = logprobs[t]!
    let slope = 0
    if (advantage > 0 && d > high) {
      logprob += high - d
      counts.high++
    } else if (advantage < 0 && d < low) {
      logprob += low - d
      counts.low++
    } else slope = -advantage
    let loss = -logprob * advantage
    if (driftCoef > 0) {
      // expm1: near a ratio of 1, where every update starts, rho - 1 - log rho has hardly a digit left.
      const excess = Math.expm1(d)
      loss += driftCoef * (excess - d)
      slope += driftCoef * excess
    }
    gradient[t] = coefficient * slope
    value += coefficient * loss
  }
  return value
}

function mean(values: ArrayLike<number>, length: number): number {
  let sum = 0
  for (let t = 0; t < length; t++) sum += values[t]!
  return sum / length
}

function total(coefficients: Float64Array, length: number): { sum: number; kept: number } {
  let sum = 0
  let kept = 0
  for (let t = 0; t < length; t++) {
    sum += coefficients[t]!
    if (coefficients[t] !== 0) kept++
  }
  return { sum, kept }
}
