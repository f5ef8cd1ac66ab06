import { z } from 'zod'
import { defineLoss, type PairLogprobs, type PairTerm } from '../define-loss.js'
import { logSigmoid, sigmoid } from '../sigmoid.js'
import { beta } from './beta.js'

/** Of the difference l between the log-ratios of chosen and rejected. */
function dpoTerm(
  { chosen, rejected }: PairLogprobs,
  { beta, labelSmoothing }: { beta: number; labelSmoothing: number },
): PairTerm {
  const x = beta * (chosen - rejected)
  const slope = beta * (labelSmoothing * sigmoid(x) - (1 - labelSmoothing) * sigmoid(-x))
  const value = -(1 - labelSmoothing) * logSigmoid(x) - labelSmoothing * logSigmoid(-x)
  return { value, chosen: slope, rejected: -slope }
}

export const dpo = defineLoss({
  kind: 'preference',
  name: 'dpo',
  description: 'direct preference optimisation',
  formula:
    'with l = (policy − ref of chosen) − (policy − ref of rejected): −(1 − labelSmoothing) log sigmoid(beta l) − labelSmoothing log sigmoid(−beta l)',
  options: z.object({
    beta,
    labelSmoothing: z.number().min(0).lt(0.5).default(0).describe('assumed share of pairs with a wrong label'),
  }),
  loss: dpoTerm,
})

export const cdpo = defineLoss({
  kind: 'preference',
  name: 'cdpo',
  description: 'dpo for noisy labels',
  formula: '`dpo` with a `labelSmoothing` that is not 0',
  options: z.object({
    beta,
    labelSmoothing: z.number().gt(0).lt(0.5).describe('assumed share of pairs with a wrong label, above 0'),
  }),
  loss: dpoTerm,
})
