import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { mean, total } from './whole-response.js'

/** The geometric mean of token ratios, each clipped on the side where clipping lowers the objective. */
export const gmpo = defineLoss({
  kind: 'policy',
  name: 'gmpo',
  description: 'geometric mean of clipped token ratios',
  formula:
    'with a = mean(A): −exp(mean m) a, where m is lp − old, at most clipHigh for a > 0 and at least −clipLow for a < 0',
  options: z.object({
    clipLow: z
      .number()
      .min(0)
      .default(0.2)
      .describe('lower clipping bound: the log-ratio is clipped to at least -clipLow'),
    clipHigh: z
      .number()
      .min(0)
      .default(0.2)
      .describe('upper clipping bound: the log-ratio is clipped to at most clipHigh'),
  }),
  heldConstant: 'nothing',
  loss: (tokens, { clipLow, clipHigh }) => {
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
  },
})
