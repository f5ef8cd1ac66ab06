import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { ratioClip } from './ratio-clip.js'

/** The clipped ratio is a weight without gradient, so every token keeps its gradient. */
export const cispo = defineLoss({
  kind: 'policy',
  name: 'cispo',
  description: 'clipped ratios as weights; every token has a gradient',
  formula: '−w A lp with the weight w = clip(rho, 1 − clipLow, 1 + clipHigh), held constant',
  options: z.object(ratioClip),
  heldConstant: 'ratio',
  loss: (tokens, { clipLow, clipHigh }) => {
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
  },
})
