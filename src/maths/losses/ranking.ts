import { z } from 'zod'
import { defineLoss } from './define-loss.js'
import { logSigmoid, sigmoid } from './sigmoid.js'

/**
 * The ranking loss of a reward model: the mean of -log sigmoid(chosen - rejected - margin), plus `centerCoef` times the square of
 * chosen + rejected, which keeps scores near 0. With a `contrastiveWeight`, -log sigmoid((chosen - rejected) / temperature) too.
 */
export const ranking = defineLoss({
  kind: 'reward-model',
  name: 'reward-model',
  description: 'pairwise ranking by scores',
  formula:
    'mean of −log sigmoid(chosen − rejected − margin) + centerCoef (chosen + rejected)²; a pair may have its own margin',
  options: z.object({
    margin: z.number().min(0).default(0).describe('wanted difference between the scores of a pair'),
    rankingWeight: z.number().min(0).default(1).describe('weight of the ranking term, which uses the margin'),
    contrastiveWeight: z
      .number()
      .min(0)
      .default(0)
      .describe('weight of the contrastive term: cross-entropy over scores / temperature'),
    temperature: z.number().positive().default(1).describe('temperature of the contrastive term'),
    centerCoef: z
      .number()
      .min(0)
      .default(0)
      .describe('weight of the penalty (chosen + rejected)², which keeps scores near 0'),
  }),
  loss: (pair, { rankingWeight, contrastiveWeight, temperature, centerCoef, ...options }) => {
    const { chosen, rejected, margin = options.margin } = pair
    const distance = chosen - rejected - margin
    const sum = chosen + rejected
    const contrast = (chosen - rejected) / temperature
    const value =
      -rankingWeight * logSigmoid(distance) - contrastiveWeight * logSigmoid(contrast) + centerCoef * sum * sum
    const pull = rankingWeight * sigmoid(-distance) + (contrastiveWeight / temperature) * sigmoid(-contrast)
    const center = 2 * centerCoef * sum
    return { value, chosen: center - pull, rejected: center + pull }
  },
})
