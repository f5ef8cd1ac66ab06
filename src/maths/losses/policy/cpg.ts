import { z } from 'zod'
import { defineLoss } from '../define-loss.js'

export const cpg = defineLoss({
  kind: 'policy',
  name: 'cpg',
  description: 'clipped log-probabilities with a drift penalty (CPGD)',
  formula:
    '−A lp, with lp at most old + log(1 + clipHigh) for A > 0 and at least old + log(1 − clipLow) otherwise; plus driftCoef (rho − 1 − log rho)',
  options: z.object({
    clipLow: z
      .number()
      .min(0)
      .lt(1)
      .default(0.2)
      .describe('lower clipping bound: the log-probability is clipped where the ratio is 1 - clipLow'),
    clipHigh: z
      .number()
      .min(0)
      .default(0.2)
      .describe('upper clipping bound: the log-probability is clipped where the ratio is 1 + clipHigh'),
    driftCoef: z.number().min(0).default(0).describe('coefficient of the drift from the old policy'),
  }),
  heldConstant: 'nothing',
  loss: (tokens, { clipLow, clipHigh, driftCoef }) => {
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
  },
})
