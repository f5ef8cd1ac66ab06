import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { ratioClip } from './ratio-clip.js'

export const ppo = defineLoss({
  kind: 'policy',
  name: 'ppo',
  description: 'clipped token ratios',
  formula: '−min(rho A, clip(rho, 1 − clipLow, 1 + clipHigh) A); with `dualClip` c and A < 0 at most −c A',
  options: z.object({
    ...ratioClip,
    dualClip: z
      .number()
      .gt(1)
      .nullable()
      .default(null)
      .describe('dual clip: largest ratio of tokens with a negative advantage; null: no dual clip'),
  }),
  heldConstant: 'nothing',
  loss: (tokens, { clipLow, clipHigh, dualClip }) => {
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
  },
})
