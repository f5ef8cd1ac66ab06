import { z } from 'zod'
import { optimizerSchema } from '../config/common.js'
import { rewardModelLossSchema } from '../losses/reward-model.js'
import { refuseContradictions, supervisedShape } from '../supervised-config.js'

/** A reward model: of two answers, the better one gets the higher score. */
export const rewardModelSchema = z
  .strictObject({
    ...supervisedShape,
    model: supervisedShape.model.describe('a language model, which gets a new head, or a reward model that goes on'),
    ...rewardModelLossSchema.shape,
    freezeBackbone: z.boolean().default(false).describe('train the head alone'),
    optimizer: optimizerSchema(1e-5).describe('learning rate and AdamW'),
  })
  .superRefine(refuseContradictions)

export type RewardModelConfig = z.output<typeof rewardModelSchema>
