import { z } from 'zod'
import {
  definitionOption,
  isLoss,
  type LabelledLossDefinition,
  losses,
  ownOptions,
  type PreferenceLossDefinition,
  preferenceLosses,
} from '../../maths/index.js'
import { optimizerSchema, path } from '../config/common.js'
import { refuseContradictions, supervisedPaths, supervisedShape } from '../supervised/config.js'

const ours: Readonly<Record<string, PreferenceLossDefinition | LabelledLossDefinition>> = {
  ...preferenceLosses,
  kto: losses.kto,
}
export const lossNames = ['dpo', 'cdpo', 'ipo', 'kto'] as const
const ownOfSome = ['labelSmoothing', 'ipoLogprobs', 'desirableWeight', 'undesirableWeight'] as const

function isPreferenceLoss(value: unknown): value is PreferenceLossDefinition | LabelledLossDefinition {
  return isLoss('preference')(value) || isLoss('labelled')(value)
}

interface LossChoice {
  readonly loss: (typeof lossNames)[number] | PreferenceLossDefinition | LabelledLossDefinition
  readonly lossOptions?: Readonly<Record<string, unknown>> | undefined
}

/** The loss that a config names or holds. */
export function lossOf({ loss }: LossChoice): PreferenceLossDefinition | LabelledLossDefinition {
  return typeof loss === 'string' ? ours[loss]! : loss
}

/** The options of its loss, as the loss has them. */
export function lossOptionsOf(config: LossChoice): Record<string, unknown> {
  return ownOptions(lossOf(config), config, config.lossOptions)
}

const weight = z.number().min(0).optional()

/** Preferences without a reward model: the policy learns from pairs, or from answers that are labelled one by one. */
export const preferenceSchema = z
  .strictObject({
    ...supervisedShape,
    loss: definitionOption(lossNames, { what: 'a preference or labelled loss', accepts: isPreferenceLoss })
      .default('dpo')
      .describe(
        'dpo; cdpo for pairs with noisy labels; ipo, which does not overfit clear pairs; kto for responses with a label each; or a file with your own (defineLoss)',
      ),
    lossOptions: z.record(z.string(), z.unknown()).optional().describe('options of your own loss'),
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
    const loss = lossOf(config)
    if (loss.name === 'cdpo' && !config.labelSmoothing)
      refuse('labelSmoothing', 'cdpo needs a value above 0; use dpo for no smoothing')
    for (const option of ownOfSome)
      if (config[option] !== undefined && !(option in loss.options.shape)) {
        const having = Object.values(ours).filter(({ options }) => option in options.shape)
        refuse(option, `only for ${having.map(({ name }) => name).join(' and ')}, and loss is ${loss.name}`)
      }
    if (context.issues.length === 0)
      try {
        lossOptionsOf(config)
      } catch (error) {
        refuse('lossOptions', (error as Error).message)
      }
    if (loss.kind === 'labelled' && config.batchSize < 2)
      refuse('batchSize', `${loss.name} compares answers of different prompts in a batch and needs at least 2`)
  })

export type PreferenceConfig = z.output<typeof preferenceSchema>

export const preferencePaths: readonly string[] = [...supervisedPaths, 'reference']
