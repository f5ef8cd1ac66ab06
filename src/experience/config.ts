/** The options of experience generation: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'
import { InputError, problemOf, schemaProblems } from '../errors/index.js'
import { advantageOptionProblems, advantageOptionsShape, comparesSamples, estimatorOf } from '../maths/index.js'

const { klCoef: _, nSamplesPerPrompt: __, maxNewTokens: ___, ...advantageShape } = advantageOptionsShape

/** Logits are divided by it in float32: beyond these bounds they would be 0 or infinite. */
const isTemperature = (value: number): boolean => value === 0 || (value >= 1e-6 && value <= 1e6)

const structuredSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('regex'), pattern: z.string().min(1) }),
  z.strictObject({ kind: z.literal('json-schema'), schema: z.record(z.string(), z.unknown()) }),
  z.strictObject({ kind: z.literal('ebnf'), grammar: z.string().min(1) }),
])

/** What structured output needs. */
export const structuredNeeds = 'use vLLM 0.11 or later, or SGLang with a grammar backend'

/** How responses are sampled; may also be given for one call. */
export const generationShape = {
  temperature: z
    .number()
    .refine(isTemperature, 'expected 0, or a number from 0.000001 to 1000000')
    .default(1)
    .describe('sampling temperature; 0: greedy decoding'),
  topP: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe('nucleus sampling: sample from the most likely tokens that together have this probability'),
  topK: z
    .union([z.literal(-1), z.int().min(1)])
    .default(-1)
    .describe('sample from this many most likely tokens; -1: all'),
  maxNewTokens: z.int().min(1).default(1024).describe('most tokens of a response'),
  minNewTokens: z.int().min(0).default(1).describe('fewest tokens of a response: no end-of-sequence token before'),
  ignoreEos: z.boolean().default(false).describe('do not stop at the end-of-sequence tokens of the model'),
  stop: z.array(z.string().min(1)).default([]).describe('stop texts: a response ends with the first one it contains'),
  structured: structuredSchema
    .optional()
    .describe(
      'structured output: { kind: regex, pattern }, { kind: json-schema, schema } or { kind: ebnf, grammar }; vLLM and SGLang only',
    ),
  skipSpecialTokens: z.boolean().default(false).describe('remove special tokens from the texts of responses'),
  useFire: z.boolean().default(false).describe('sample the first token at firstTokenTemperature (FIRE)'),
  firstTokenTemperature: z
    .number()
    .min(1e-6)
    .max(1e6)
    .default(10)
    .describe('temperature of the first token with useFire'),
}

export const experienceShape = {
  ...generationShape,
  seed: z.int().default(0).describe('sampling seed; a sample depends only on it, its prompt id and its index'),
  nSamplesPerPrompt: z.int().min(1).max(65_536).default(1).describe('samples per prompt'),
  promptMaxLen: z
    .int()
    .min(1)
    .optional()
    .describe('most tokens of a prompt (default: the context of the model minus maxNewTokens)'),
  promptTruncation: z
    .enum(['left', 'right', 'reject'])
    .default('left')
    .describe(
      'what to do with longer prompts: left (cut the start of the user text), right (cut its end) or reject (skip the prompt); text of the chat template is never cut',
    ),
  mediaRepair: z
    .enum(['drop', 'mask'])
    .default('drop')
    .describe(
      'a response of an engine with placeholder tokens that no image or video belongs to: drop (leave out the sample) or mask (keep its ids, and leave these tokens out of attention and loss)',
    ),
  microRolloutBatchSize: z
    .int()
    .min(1)
    .default(64)
    .describe('sequences per scoring call; affects memory use, not results'),
  packingSamples: z
    .boolean()
    .default(true)
    .describe('pack sequences without padding for scoring; affects speed, not results'),
  ...advantageShape,
  dynamicSampling: z
    .boolean()
    .default(false)
    .describe('replace groups with equal rewards by groups of new prompts (DAPO)'),
  maxResampleRounds: z.int().min(0).default(3).describe('most rounds of dynamicSampling per rollout'),
  highEntropyTokenRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('share of tokens, those of highest entropy, that have a policy loss; 0: all tokens'),
  enableEngineSleep: z
    .boolean()
    .default(false)
    .describe(
      'save device memory: only one model is on the device at a time, and the engine sleeps while models score and train',
    ),
}

const schema = z.strictObject({
  ...experienceShape,
  chatTemplate: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written',
    ),
})

/** As a user writes it: every field may be left out. */
export type ExperienceOptions = z.input<typeof schema>
/** With every default in its place. */
export type ExperienceConfig = z.output<typeof schema>
/** What may be given for one call. */
export type GenerationOptions = Partial<z.input<z.ZodObject<typeof generationShape>>>

/** Problems of a config, one line each, found before anything runs. */
export class ExperienceConfigError extends InputError {
  override readonly name = 'ExperienceConfigError'
  constructor(problems: readonly string[]) {
    const message = problems.length === 1 ? problems[0]! : `the config has mistakes:\n  ${problems.join('\n  ')}`
    super(message, { code: 'WHETSTONE_CONFIG', problems: problems.map(problemOf) })
  }
}

const known = Object.keys(schema.shape)

/** Our names for options of the Python system, and parts of the maker that are not options of a rollout. */
const otherWords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        'reference',
        'initialModel',
        'rewardModel',
        'remoteRmUrl',
        'customRewardFunc',
        'rewardFn',
        'rewardFnLabelMap',
      ],
      ...['rewardRecipe', 'klController'],
    ].map(name => [name, name]),
  ),
  klCtl: 'klController',
  strategy: 'the options of the maker, with a generator instead of an engine',
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
  /** An evaluation does not compare samples of a prompt, so they may be equal. Default: training. */
  purpose?: 'training' | 'evaluation'
}

/** Fills in the defaults and checks all options together. */
export function resolveExperienceConfig(options: unknown, parts: ExperienceParts): ExperienceConfig {
  const result = schema.safeParse(options)
  if (!result.success) throw new ExperienceConfigError(schemaProblems(result.error, { known, otherWords }))
  const config = result.data
  const problems = advantageOptionProblems(config).map(({ option, message }) => `${option}: ${message}`)
  const estimator = estimatorOf(config.advantageEstimator)
  if (estimator.values === 'needed' && !parts.critic)
    problems.push(
      `advantageEstimator: ${estimator.name} needs a critic; give critic, or choose reinforce, rloo, reinforce_baseline or group_norm`,
    )
  if (config.minNewTokens > config.maxNewTokens)
    problems.push(`minNewTokens: ${config.minNewTokens} is more than maxNewTokens (${config.maxNewTokens})`)
  if (parts.purpose !== 'evaluation') problems.push(...equalSampleProblems(config))
  if (problems.length > 0) throw new ExperienceConfigError(problems)
  return config
}

/** Equal samples of a prompt have equal rewards and no advantage. */
function equalSampleProblems(config: ExperienceConfig): string[] {
  const { advantageEstimator, dynamicSampling, nSamplesPerPrompt, temperature, topK, useFire } = config
  const estimator = estimatorOf(advantageEstimator)
  const comparing = comparesSamples(estimator) ? estimator.name : dynamicSampling && 'dynamicSampling'
  if (!comparing) return []
  if (nSamplesPerPrompt === 1 && dynamicSampling)
    return [
      'dynamicSampling: drops prompts with equal rewards, and with one sample per prompt that is every prompt; set nSamplesPerPrompt to 2 or more, or turn it off',
    ]
  const compares = `all samples of a prompt are equal, and ${comparing} compares them`
  if (topK === 1) return [`topK: with 1 ${compares}; raise it, or remove it`]
  if (temperature === 0 && !useFire) return [`temperature: with 0 ${compares}; raise it, for example to 1`]
  return []
}
