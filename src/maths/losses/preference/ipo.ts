import { z } from 'zod'
import { defineLoss } from '../define-loss.js'
import { beta } from './beta.js'

export const ipo = defineLoss({
  kind: 'preference',
  name: 'ipo',
  description: 'fixed distance between the log-ratios of a pair',
  formula:
    "(l − 1/(2 beta))², where each of the four log-probabilities in l is the mean over its response's tokens; with `ipoLogprobs: sum` the sum",
  options: z.object({
    beta,
    ipoLogprobs: z
      .enum(['mean', 'sum'])
      .default('mean')
      .describe('log-probability of a response: the mean over its tokens (as in the paper and in TRL), or the sum'),
  }),
  logprobs: ({ ipoLogprobs }) => ipoLogprobs,
  loss: ({ chosen, rejected }, { beta }) => {
    const distance = chosen - rejected - 1 / (2 * beta)
    const slope = 2 * distance
    return { value: distance * distance, chosen: slope, rejected: -slope }
  },
})
