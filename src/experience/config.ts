/** The options of experience generation: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'
import { InputError, schemaProblems } from '../errors/index.js'
import { advantageOptionProblems, advantageOptionsShape, isGroupEstimator } from '../maths/index.js'

const { klCoef: _, nSamplesPerPrompt: __, maxNewTokens: ___, ...advantageShape } = advantageOptionsShape

/** Logits are divided by it in float32: beyond these bounds they would be 0 or infinite. */
const isTemperature = (value: number): boolean => value === 0 || (value >= 1e-6 && value <= 1e6)

const structuredSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('regex'), pattern: z.string().min(1) }),
  z.strictObject({ kind: z.literal('json-schema'), schema: z.record(z.string(), z.unknown()) }),
  z.strictObject({ kind: z.literal('ebnf'), grammar: z.string().min(1) }),
])

/** What an engine must be to hold responses to a form. */
export const structuredNeeds = 'vLLM 0.11 or later can, and SGLang with a grammar backend'

/** How responses are sampled; may also be given for one call. */
export const generationShape = {
  temperature: z
    .number()
    .refine(isTemperature, 'expected 0, or a number from 0.000001 to 1000000')
    .default(1)
    .describe('of sampling; 0 always takes the likeliest token'),
  topP: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe('only the likeliest tokens that together have this probability'),
  topK: z
    .union([z.literal(-1), z.int().min(1)])
    .default(-1)
    .describe('only this many of the likeliest tokens; -1: all'),
  maxNewTokens: z.int().min(1).default(1024).describe('tokens a response may have'),
  minNewTokens: z.int().min(0).default(1).describe('tokens before which the end of sequence is not sampled'),
  ignoreEos: z.boolean().default(false).describe("the model's own end-of-sequence tokens do not end a response"),
  stop: z.array(z.string().min(1)).default([]).describe('texts that end a response; they stay part of it'),
  structured: structuredSchema
    .optional()
    .describe(
      'form that responses are held to while they are sampled: { kind: regex, pattern }, { kind: json-schema, schema } or { kind: ebnf, grammar }; vLLM and SGLang only',
    ),
  skipSpecialTokens: z.boolean().default(false).describe("leave special tokens out of an experience's texts"),
  useFire: z.boolean().default(false).describe('sample the first token at firstTokenTemperature (FIRE)'),
  firstTokenTemperature: z
    .number()
    .min(1e-6)
    .max(1e6)
    .default(10)
    .describe("the first token's temperature with useFire"),
}

export const experienceShape = {
  ...generationShape,
  seed: z.int().default(0).describe('of sampling; a sample depends on it, its prompt id and its index alone'),
  nSamplesPerPrompt: z.int().min(1).max(65_536).default(1).describe('samples of each prompt'),
  promptMaxLen: z
    .int()
    .min(1)
    .optional()
    .describe("tokens a prompt may have (default: the model's context less maxNewTokens)"),
  promptTruncation: z
    .enum(['left', 'right', 'reject'])
    .default('left')
    .describe(
      "of longer prompts: cut off the beginning of the user's text, its end, or do without them; what a chat template writes stays",
    ),
  microRolloutBatchSize: z
    .int()
    .min(1)
    .default(64)
    .describe('sequences a scoring call holds; changes memory, no number'),
  packingSamples: z
    .boolean()
    .default(true)
    .describe('score sequences one after another without padding; no number changes'),
  ...advantageShape,
  dynamicSampling: z
    .boolean()
    .default(false)
    .describe('replace groups whose rewards are all equal by fresh ones (DAPO)'),
  maxResampleRounds: z.int().min(0).default(3).describe('rounds of fresh groups, at most'),
  highEntropyTokenRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('train only this share of the tokens, those of highest entropy; 0: all'),
  enableEngineSleep: z
    .boolean()
    .default(false)
    .describe('models take turns on the device: the engine sleeps while they score, and only one is there at a time'),
}

const schema = z.strictObject({
  ...experienceShape,
  chatTemplate: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'auto: text prompts are user turns where the tokenizer has a chat template; none: they are taken as they are',
    ),
})

/** As a user writes it: every field may be left out. */
export type ExperienceOptions = z.input<typeof schema>
/** With every default in its place. */
export type ExperienceConfig = z.output<typeof schema>
/** What may be given for one call. */
export type GenerationOptions = Partial<z.input<z.ZodObject<typeof generationShape>>>

/** What is wrong with a config, a line each, before anything runs. */
export class ExperienceConfigError extends InputError {
  override readonly name = 'ExperienceConfigError'
  constructor(readonly problems: readonly string[]) {
    super(problems.length === 1 ? problems[0]! : `the config cannot be used:\n  ${problems.join('\n  ')}`)
  }
}

const known = Object.keys(schema.shape)

/** Names of the Python system that are other words here, and parts of the maker that are no options of a rollout. */
const otherWords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...['initialModel', 'rewardModel', 'remoteRmUrl', 'customRewardFunc', 'rewardFn', 'rewardFnLabelMap'],
      ...['rewardRecipe', 'klController'],
    ].map(name => [name, name]),
  ),
  klCtl: 'klController',
  strategy: 'the options of the maker, with a generator in place of its engine,',
  inferenceEngine: 'generator',
  maxTokens: 'maxNewTokens',
  minTokens: 'minNewTokens',
  rewardNormalization: 'rewardRunningNorm',
  initKlCoef: 'klController: { kind: "fixed", coef }',
  klCoef: 'klController: { kind: "fixed", coef }',
  klTarget: 'klController: { kind: "adaptive", target }',
  engineType: 'generator',
}

/** What a config has to fit to. */
export interface ExperienceParts {
  critic: boolean
  /** An evaluation compares no samples of a prompt with each other, so that they may be alike. Default: training. */
  purpose?: 'training' | 'evaluation'
}

/** Fills in the defaults and checks all options together. */
export function resolveExperienceConfig(options: unknown, parts: ExperienceParts): ExperienceConfig {
  const result = schema.safeParse(options)
  if (!result.success) throw new ExperienceConfigError(schemaProblems(result.error, { known, otherWords }))
  const config = result.data
  const problems = advantageOptionProblems(config).map(({ option, message }) => `${option}: ${message}`)
  if (config.advantageEstimator === 'gae' && !parts.critic)
    problems.push(
      "advantageEstimator: gae needs a critic's values and none was given; give critic, or choose reinforce, rloo, reinforce_baseline or group_norm, which need none",
    )
  if (config.minNewTokens > config.maxNewTokens)
    problems.push(`minNewTokens: ${config.minNewTokens} is more than maxNewTokens (${config.maxNewTokens})`)
  if (parts.purpose !== 'evaluation') problems.push(...equalSampleProblems(config))
  if (problems.length > 0) throw new ExperienceConfigError(problems)
  return config
}

/** Samples of a prompt that are all the same have equal rewards, and nothing is learned by comparing them. */
function equalSampleProblems(config: ExperienceConfig): string[] {
  const { advantageEstimator, dynamicSampling, nSamplesPerPrompt, temperature, topK, useFire } = config
  const comparing = isGroupEstimator(advantageEstimator) ? advantageEstimator : dynamicSampling && 'dynamicSampling'
  if (!comparing) return []
  if (nSamplesPerPrompt === 1 && dynamicSampling)
    return [
      'dynamicSampling: it drops prompts whose samples all earn the same, which is every prompt with one sample; set nSamplesPerPrompt to 2 or more, or leave it out',
    ]
  const compares = `all samples of a prompt are the same, and ${comparing} compares them`
  if (topK === 1) return [`topK: at 1 ${compares}; raise it, or leave it out`]
  if (temperature === 0 && !useFire) return [`temperature: at 0 ${compares}; raise it, as to 1`]
  return []
}
