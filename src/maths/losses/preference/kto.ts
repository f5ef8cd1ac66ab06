import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { sigmoid } from '../sigmoid.js'
import { beta } from './beta.js'

/** Responses that are labelled one by one: raised above z0 where they are desirable, lowered where they are not. */
export const kto = defineLoss({
  kind: 'labelled',
  name: 'kto',
  description: 'responses with a label each, not in pairs',
  formula:
    'with d = policy − ref: desirable w (1 − sigmoid(beta (d − z0))), undesirable w (1 − sigmoid(beta (z0 − d))), each with its own weight w',
  options: z.object({
    beta,
    desirableWeight: z.number().min(0).default(1).describe('loss weight of desirable responses'),
    undesirableWeight: z.number().min(0).default(1).describe('loss weight of undesirable responses'),
  }),
  loss: ({ logRatio, z0, desirable }, { beta, desirableWeight, undesirableWeight }) => {
    const direction = desirable ? 1 : -1
    const weight = desirable ? desirableWeight : undesirableWeight
    // 1 - sigmoid(x) is sigmoid(-x), which keeps its digits where it is small.
    const x = direction * beta * (logRatio - z0)
    return { value: weight * sigmoid(-x), slope: -direction * weight * beta * sigmoid(x) * sigmoid(-x) }
  },
})
