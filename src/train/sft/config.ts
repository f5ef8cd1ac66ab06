import { z } from 'zod'
import { dataOptionsShape } from '../../data/index.js'
import { optimizerSchema } from '../config/common.js'
import { refuseContradictions, supervisedShape } from '../supervised/config.js'

/** Supervised fine-tuning: the model learns to say what the assistant says in conversations. */
export const sftSchema = z
  .strictObject({
    ...supervisedShape,
    trainOn: dataOptionsShape.trainOn,
    packing: z
      .enum(['on', 'off'])
      .default('on')
      .describe('on: pack rows of unequal length without padding; affects speed, not results'),
    optimizer: optimizerSchema(2e-5).describe('learning rate, schedule and AdamW options'),
  })
  .superRefine(refuseContradictions)

export type SftConfig = z.output<typeof sftSchema>
