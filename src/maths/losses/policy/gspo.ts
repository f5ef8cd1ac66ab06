import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { ratioClip } from './ratio-clip.js'
import { mean, total } from './whole-response.js'

/** One ratio for the whole response: each of its tokens has the response's loss, and a gradient even where its own loss is left out. */
export const gspo = defineLoss({
  kind: 'policy',
  name: 'gspo',
  description: 'clipped ratio of the whole response',
  formula:
    'with s = exp(mean(lp − old)) and a = mean(A) of the response: −min(s a, clip(s, 1 − clipLow, 1 + clipHigh) a)',
  options: z.object(ratioClip),
  heldConstant: 'nothing',
  loss: (tokens, { clipLow, clipHigh }) => {
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
  },
})
