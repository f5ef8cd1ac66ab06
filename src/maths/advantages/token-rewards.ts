/**
 * The reward of every token: minus the cost of its KL, and at the last token also what the whole response earned. Without `kl`
 * (no reference, or KL is a loss) only the last token has one.
 *
 * @example
 * tokenRewards({ reward: 1, kl: [0.2, -0.1], klCoef: 0.1, length: 2 }) // -0.02, 1.01
 */
export function tokenRewards(options: {
  reward: number
  length: number
  kl?: ArrayLike<number> | undefined
  klCoef: number
}): Float64Array {
  const { reward, length, kl, klCoef } = options
  if (length < 1) throw new RangeError('a response without tokens has no token to reward')
  const rewards = new Float64Array(length)
  if (kl && klCoef > 0) for (let t = 0; t < length; t++) rewards[t] = -klCoef * kl[t]!
  rewards[length - 1]! += reward
  return rewards
}
