import { z } from 'zod'
import { optimizerSchema, path } from '../config/common.js'
import { refuseContradictions, supervisedPaths, supervisedShape } from '../supervised/config.js'

const weight = z.number().min(0).optional()

/** Preferences without a reward model: the policy learns from pairs, or from answers that are labelled one by one. */
export const preferenceSchema = z
  .strictObject({
    ...supervisedShape,
    loss: z
      .enum(['dpo', 'cdpo', 'ipo', 'kto'])
      .default('dpo')
      .describe(
        'dpo; cdpo for pairs with noisy labels; ipo, which does not overfit clear pairs; kto for responses with a label each',
      ),
    beta: z.number().positive().default(0.1).describe('strength of the penalty for moving away from the reference'),
    labelSmoothing: z
      .number()
      .min(0)
      .lt(0.5)
      .optional()
      .describe('dpo and cdpo: assumed share of pairs with a wrong label (default 0; cdpo needs a value above 0)'),
    ipoLogprobs: z
      .enum(['mean', 'sum'])
      .optional()
      .describe(
        'ipo: log-probability of a response as the mean over its tokens (as in the paper and in TRL) or as the sum (default mean)',
      ),
    desirableWeight: weight.describe('kto: loss weight of desirable responses (default 1)'),
    undesirableWeight: weight.describe('kto: loss weight of undesirable responses (default 1)'),
    reference: path.optional().describe('the reference model (default: the model before training)'),
    optimizer: optimizerSchema(1e-6).describe('learning rate, schedule and AdamW options'),
  })
  .superRefine(refuseContradictions)
  .superRefine((config, context) => {
    const refuse = (key: string, message: string) => context.addIssue({ code: 'custom', path: [key], message })
    const { loss, labelSmoothing, ipoLogprobs, desirableWeight, undesirableWeight, batchSize } = config
    if (loss === 'cdpo' && !labelSmoothing)
      refuse('labelSmoothing', 'cdpo needs a value above 0; use dpo for no smoothing')
    if (labelSmoothing !== undefined && loss !== 'dpo' && loss !== 'cdpo')
      refuse('labelSmoothing', `only for dpo and cdpo, and loss is ${loss}`)
    if (ipoLogprobs !== undefined && loss !== 'ipo') refuse('ipoLogprobs', `only for ipo, and loss is ${loss}`)
    if (desirableWeight !== undefined && loss !== 'kto') refuse('desirableWeight', `only for kto, and loss is ${loss}`)
    if (undesirableWeight !== undefined && loss !== 'kto')
      refuse('undesirableWeight', `only for kto, and loss is ${loss}`)
    if (loss === 'kto' && batchSize < 2)
      refuse('batchSize', 'kto compares answers of different prompts in a batch and needs at least 2')
  })

export type PreferenceConfig = z.output<typeof preferenceSchema>

export const preferencePaths: readonly string[] = [...supervisedPaths, 'reference']
