import { z } from 'zod'
import { defineEstimator, type TokenAdvantages } from '../define-estimator.js'

export const gae = defineEstimator({
  name: 'gae',
  description: 'generalised advantage estimation with `gamma` and `lambd`; needs values',
  options: z.object({}),
  compares: 'nothing',
  values: 'needed',
  advantages: ({ rewards, values, discounts, lambd }) =>
    gaeAdvantages({ rewards, values: values!, gamma: discounts, lambd }),
})

/**
 * Generalised advantage estimation. Nothing is expected after the last token, whether the response ended by itself or was cut.
 *
 * @example
 * gaeAdvantages({ rewards: [-0.02, 1.01], values: [0.2, 0.4], gamma: 1, lambd: 0.95 }) // advantages 0.7595, 0.61
 */
export function gaeAdvantages(options: {
  rewards: ArrayLike<number>
  values: ArrayLike<number>
  /** One for all tokens, or one for what follows each. */
  gamma: number | ArrayLike<number>
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
    const discount = typeof gamma === 'number' ? gamma : gamma[t]!
    advantage = rewards[t]! + discount * nextValue - value + discount * lambd * advantage
    advantages[t] = advantage
    returns[t] = advantage + value
    nextValue = value
  }
  return { advantages, returns }
}
