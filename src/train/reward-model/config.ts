import { z } from 'zod'
import { definitionOption, isLoss, losses, ownOptions } from '../../maths/index.js'
import { optimizerSchema } from '../config/common.js'
import { refuseContradictions, supervisedShape } from '../supervised/config.js'

/** A reward model: of two answers, the better one gets the higher score. */
export const rewardModelSchema = z
  .strictObject({
    ...supervisedShape,
    model: supervisedShape.model.describe(
      'a language model (it gets a new reward head), or a reward model to train further',
    ),
    loss: definitionOption(['ranking'], { what: 'a reward-model loss', accepts: isLoss('reward-model') })
      .default('ranking')
      .describe('loss of pairs: ranking, or a file with your own (defineLoss)'),
    lossOptions: z.record(z.string(), z.unknown()).optional().describe('options of your own loss'),
    ...losses['reward-model'].options.shape,
    freezeBackbone: z.boolean().default(false).describe('train only the head'),
    optimizer: optimizerSchema(1e-5).describe('learning rate, schedule and AdamW options'),
  })
  .superRefine(refuseContradictions)
  .superRefine((config, context) => {
    const { loss, rankingWeight, contrastiveWeight } = config
    if (loss !== 'ranking')
      try {
        ownOptions(loss, config, config.lossOptions)
      } catch (error) {
        context.addIssue({ code: 'custom', path: ['lossOptions'], message: (error as Error).message })
      }
    else if (rankingWeight === 0 && contrastiveWeight === 0)
      context.addIssue({
        code: 'custom',
        path: ['rankingWeight'],
        message: 'rankingWeight and contrastiveWeight are both 0, so the loss prefers no answer; raise one of them',
      })
  })

export type RewardModelConfig = z.output<typeof rewardModelSchema>
