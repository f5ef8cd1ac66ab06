import { z } from 'zod'
import { losses } from '../../maths/index.js'
import { optimizerSchema } from '../config/common.js'
import { refuseContradictions, supervisedShape } from '../supervised/config.js'

/** A reward model: of two answers, the better one gets the higher score. */
export const rewardModelSchema = z
  .strictObject({
    ...supervisedShape,
    model: supervisedShape.model.describe(
      'a language model (it gets a new reward head), or a reward model to train further',
    ),
    ...losses['reward-model'].options.shape,
    freezeBackbone: z.boolean().default(false).describe('train only the head'),
    optimizer: optimizerSchema(1e-5).describe('learning rate, schedule and AdamW options'),
  })
  .superRefine(refuseContradictions)
  .superRefine(({ rankingWeight, contrastiveWeight }, context) => {
    if (rankingWeight === 0 && contrastiveWeight === 0)
      context.addIssue({
        code: 'custom',
        path: ['rankingWeight'],
        message: 'rankingWeight and contrastiveWeight are both 0, so the loss prefers no answer; raise one of them',
      })
  })

export type RewardModelConfig = z.output<typeof rewardModelSchema>
