/** Options of an evaluation. The descriptions are its docs. */
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../data/index.js'
import { devicesOption, devicesProblem } from '../distributed/index.js'
import type { Environment } from '../environment/index.js'
import { InputError, schemaProblems } from '../errors/index.js'
import { type RewardEngineOptions, rewardForms } from '../reward/index.js'
import { devicePattern, expectedDevice } from '../tensor/index.js'
import { environmentShape, mediaSchema, type Report } from '../train/index.js'
import { bleuTokenizers } from './bleu-tokenizers.js'

export const evaluationMetrics = ['perplexity', 'reward', 'accuracy', 'winRate', 'bleu', 'rougeL'] as const
export type EvaluationMetric = (typeof evaluationMetrics)[number]

const text = z.string().min(1)

const evaluationShape = {
  model: text.describe('a Hugging Face model directory, or an id of the Hub: org/name'),
  adapter: text.optional().describe('a LoRA adapter of the model in PEFT format'),
  reference: text.optional().describe('a second model that answers the same prompts, for the win rate'),
  data: dataSchema.describe('prompts, or conversations with answers'),
  reward: z
    .union([
      text,
      z.array(text).min(1).readonly(),
      z.custom<RewardEngineOptions>(value => typeof value === 'object' && value !== null),
    ])
    .optional()
    .describe(`${rewardForms}; or a list of these`),
  ...environmentShape,
  metrics: z
    .array(z.enum(evaluationMetrics))
    .min(1)
    .optional()
    .describe('metrics to measure (default: all that the data and the reward allow)'),
  limit: z.int().min(1).optional().describe('use only the first N rows (default: all)'),
  samples: z.int().min(1).default(1).describe('answers per prompt; pass@k is measured for k up to this'),
  temperature: z
    .number()
    .min(0)
    .optional()
    .describe('sampling temperature; 0: greedy decoding (default: 0 for one answer, 1 for several)'),
  maxNewTokens: z.int().min(1).default(256).describe('most tokens of an answer'),
  correctAt: z
    .number()
    .optional()
    .describe('an answer with at least this reward is correct (default 1; with a reward model there is no accuracy)'),
  bleuTokenizer: z
    .enum(['auto', ...bleuTokenizers])
    .default('auto')
    .describe('tokenizer of sacrebleu; auto: from the script of the targets, 13a if words are separated by spaces'),
  promptTemplate: dataOptionsShape.promptTemplate,
  systemPrompt: dataOptionsShape.systemPrompt,
  chatTemplate: dataOptionsShape.chatTemplate,
  maxBadRows: dataOptionsShape.maxBadRows,
  media: mediaSchema.optional().describe('how to read images and videos'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('cpu, cuda, cuda:N, or auto (a GPU if the machine has one)'),
  devices: devicesOption,
  seed: z.int().default(0).describe('seed of the random numbers'),
}

const evaluationSchema = z
  .strictObject(evaluationShape)
  .refine(({ samples, temperature }) => samples === 1 || temperature !== 0, {
    path: ['temperature'],
    error: 'with temperature 0 all samples of a prompt are equal; raise it, or set samples to 1',
  })
  .refine(({ environment, tools }) => environment === undefined || tools === undefined, {
    path: ['tools'],
    error: 'the environment has its own tools; give environment or tools',
  })
  .refine(({ environment, tools, episode }) => episode === undefined || (environment ?? tools) !== undefined, {
    path: ['episode'],
    error: 'needs environment or tools',
  })
  .superRefine((config, context) => {
    const message = devicesProblem(config)
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['devices'], message })
  })

export type EvaluationConfig = z.output<typeof evaluationSchema>

export interface EvaluationOptions extends z.input<typeof evaluationSchema> {
  /** An environment of the program, in place of a file. */
  readonly live?: { readonly environment?: Environment | undefined }
  /** Receives progress. Default: nothing. */
  readonly report?: Report
  readonly signal?: AbortSignal
}

/** Checks the options and fills in the defaults. */
export function resolveEvaluation(options: Readonly<Record<string, unknown>>): EvaluationConfig {
  for (const name of ['model', 'data'] as const)
    if (options[name] === undefined) throw new InputError(`${name}: missing; ${evaluationShape[name].description}`)
  const result = evaluationSchema.safeParse(options)
  if (result.success) return result.data
  throw new InputError(schemaProblems(result.error, { known: Object.keys(evaluationShape) }).join('\n'))
}

/** The given temperature, or the default for the number of samples. */
export const temperatureOf = ({ temperature, samples }: EvaluationConfig): number =>
  temperature ?? (samples === 1 ? 0 : 1)
