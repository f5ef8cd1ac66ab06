import { allEqual, momentsOf } from '../moments.js'

/** Each reward less the mean of its prompt's. */
export function minusMean(rewards: Float64Array): Float64Array {
  // A mean that rounding puts one digit off is not a difference.
  if (allEqual(rewards)) return new Float64Array(rewards.length)
  const { mean } = momentsOf(rewards)
  return rewards.map(reward => reward - mean)
}
