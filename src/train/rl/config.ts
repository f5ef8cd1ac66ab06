/** What a reinforcement learning run is told: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../../data/index.js'
import { InputError } from '../../errors/index.js'
import {
  type ExperienceConfig,
  ExperienceConfigError,
  experienceShape,
  generationShape,
  resolveExperienceConfig,
  structuredNeeds,
} from '../../experience/index.js'
import {
  aggregations,
  importanceProblems,
  klControllerSchema,
  type ObjectiveOptions,
  policyLossNames,
  resolveObjectiveOptions,
} from '../../maths/index.js'
import { chatTemplateWords, templateUse } from '../../text/index.js'
import { modelShape, optimizerSchema, path, runShape } from '../config/common.js'
import { generatorOptionProblems, generatorSchema } from '../config/generator.js'
import { rlOtherWords } from '../config/other-words.js'
import { type ConfigLayer, type ResolvedConfig, resolveConfig, withOrigin } from '../config/resolve.js'
import { rewardRunShape } from '../config/rewards.js'
import { type Algorithm, algorithms, presets } from './presets.js'

const { seed: _, ...experienceOptions } = experienceShape
const { validationData, validationShare, promptTemplate, systemPrompt, chatTemplate, maxBadRows, shuffle } =
  dataOptionsShape

const criticSchema = z.strictObject({
  model: path
    .optional()
    .describe('where it starts from (default: the model that is trained, with a new head of zeros)'),
  optimizer: optimizerSchema(1e-5).describe("the critic's own"),
  valueClip: z
    .number()
    .positive()
    .nullable()
    .default(0.2)
    .describe('values count as moved by at most this since the rollout; null: without bound'),
  warmupIterations: z.int().min(0).default(0).describe('iterations that train the critic alone, at the beginning'),
})

const ptxSchema = z.strictObject({
  data: dataSchema.describe('conversations or texts, as for supervised fine-tuning'),
  coef: z.number().positive().default(0.1).describe('what their loss counts'),
  batchSize: z.int().min(1).default(16).describe('rows of an optimiser step'),
  maxLength: dataOptionsShape.maxLength,
})

const evaluationSchema = z.strictObject({
  every: z
    .int()
    .min(1)
    .default(10)
    .describe('iterations between evaluations; there is one at the start and one at the end'),
  temperature: generationShape.temperature.default(0).describe('of its sampling; 0 always takes the likeliest token'),
  nSamplesPerPrompt: z.int().min(1).default(1).describe('samples of each held-out prompt'),
  maxPrompts: z.int().min(1).default(256).describe('of the held-out prompts, the first so many'),
})

export const rlShape = {
  algorithm: z.enum(algorithms).default('grpo').describe('a preset: what it sets is printed, and may be set otherwise'),
  ...modelShape,
  ...runShape,
  data: dataSchema.describe('prompts: files, or sources with weights'),
  validationData,
  validationShare,
  promptTemplate,
  systemPrompt,
  chatTemplate,
  maxBadRows,
  shuffle,
  rewards: path.describe('a module that exports a reward (.ts, .js), or a description of sources (.yaml, .json)'),
  ...rewardRunShape,
  reference: path
    .optional()
    .describe(
      'the model KL is measured to: a directory, initial (the model before training), adapter-off (a LoRA model without its adapter) or none (default: initial where KL costs something)',
    ),
  iterations: z.int().min(1).optional().describe('rollouts with their updates (default: by epochs)'),
  epochs: z.int().min(1).default(1).describe('how often every prompt is visited, where iterations are not given'),
  rolloutBatchSize: z
    .int()
    .min(1)
    .max(2 ** 20)
    .default(32)
    .describe('prompts of a rollout'),
  trainBatchSize: z.int().min(1).optional().describe('samples of an optimiser step (default: the whole rollout)'),
  updateEpochs: z.int().min(1).default(1).describe('passes over each rollout'),
  ...experienceOptions,
  generator: generatorSchema.prefault({}).describe('what generates the samples'),
  maxStaleness: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'iterations that a rollout may be begun before its turn, while earlier ones are trained on; older samples are dropped. Needs servers and tisCap',
    ),
  klController: klControllerSchema
    .default({ kind: 'fixed', coef: 0.01 })
    .describe('what KL to the reference costs: fixed (coef), or adaptive (coef, target, horizon)'),
  loss: z.enum(policyLossNames).default('ppo').describe('the policy loss'),
  clipLow: z.number().min(0).optional().describe('how far ratios count downwards (default 0.2)'),
  clipHigh: z.number().min(0).optional().describe('how far ratios count upwards (default 0.2)'),
  dualClip: z.number().gt(1).optional().describe('where the advantage is negative, ratios count up to this (ppo)'),
  driftCoef: z.number().min(0).optional().describe('cost of moving away from the old policy (cpg)'),
  tisCap: z
    .number()
    .positive()
    .optional()
    .describe('truncated importance sampling: weigh tokens by trainer to engine probability, at most this'),
  aggregation: z
    .enum(aggregations)
    .default('seq-mean-token-mean')
    .describe('how the losses of tokens become one number'),
  entropyCoef: z.number().min(0).default(0).describe('what entropy is worth'),
  targetKl: z
    .number()
    .positive()
    .optional()
    .describe('stop the updates of an iteration when the policy has moved this far from the one that sampled'),
  optimizer: optimizerSchema(1e-6).describe("the policy's"),
  critic: criticSchema.optional().describe('the critic, which gae needs (default there: all defaults)'),
  ptx: ptxSchema.optional().describe('supervised data mixed into every update'),
  emaDecay: z
    .number()
    .gt(0)
    .lt(1)
    .optional()
    .describe('keep a moving average of the policy, exported as ema_model: share of the old average at each step'),
  evaluation: evaluationSchema.prefault({}).describe('on held-out prompts: validationData or validationShare'),
  exportEvery: z.int().min(1).optional().describe('iterations between exports, iteration_000100 and so on; they stay'),
  sampleEvery: z.int().min(1).default(10).describe('iterations between samples whose texts are logged'),
}

export const rlSchema = z.strictObject(rlShape)
export type RlConfig = Readonly<z.output<typeof rlSchema>>

/** Options that name files or directories; those in a config file are relative to it. */
export const rlPaths: readonly string[] = [
  ...['model', 'output', 'adapter', 'rewards', 'reference', 'critic.model', 'generator.weightsDirectory'],
  'chatTemplate',
  ...['data', 'data.path', 'validationData', 'validationData.path', 'ptx.data', 'ptx.data.path'],
]
/** Values of path options that are no paths. */
export const rlWords: readonly string[] = ['initial', 'adapter-off', ...chatTemplateWords]

/** A run's config from its layers, the preset below them; what cannot be is an error that names each option. */
export function resolveRlConfig(layers: readonly ConfigLayer[]): ResolvedConfig<RlConfig> & { preset: Algorithm } {
  const preset = presetOf(layers)
  const base: ConfigLayer = { origin: `preset ${preset}`, values: presets[preset] }
  const resolved = resolveConfig(rlSchema, [base, ...layers], {
    paths: rlPaths,
    words: rlWords,
    otherWords: rlOtherWords,
  })
  const problems = rlProblems(resolved.config)
  if (problems.length > 0)
    throw new InputError(problems.map(problem => withOrigin(problem, resolved.origins)).join('\n'))
  const { config } = resolved
  const critic = config.critic ?? (config.advantageEstimator === 'gae' ? criticSchema.parse({}) : undefined)
  return { ...resolved, config: critic ? { ...config, critic } : config, preset }
}

function presetOf(layers: readonly ConfigLayer[]): Algorithm {
  const named = layers.map(({ values }) => values.algorithm).findLast(value => value !== undefined)
  return algorithms.find(name => name === named) ?? 'grpo'
}

/** All samples of a rollout are in memory at once. */
const mostSamples = 10_000_000

/** What does not go together. */
export function rlProblems(config: RlConfig): string[] {
  const problems: string[] = []
  const attempt = (check: () => void): void => {
    try {
      check()
    } catch (error) {
      problems.push(...(error instanceof ExperienceConfigError ? error.problems : [(error as Error).message]))
    }
  }
  const { reference, lora, adapter, critic, advantageEstimator, trainBatchSize, rolloutBatchSize } = config
  attempt(() => resolveExperienceConfig(experienceOptionsOf(config), { critic: true }))
  attempt(() => resolveObjectiveOptions(objectiveOptionsOf(config, { klCoef: config.klController.coef })))
  if (config.tisCap !== undefined) problems.push(...importanceProblems({ ...config, logprobs: ['processed'] }))
  if (lora && adapter !== undefined)
    problems.push('adapter: adapter continues an existing adapter and lora makes a new one; give only one of them')
  if (reference === 'adapter-off' && !lora && adapter === undefined)
    problems.push('reference: adapter-off needs lora or adapter; use initial for the model before training')
  if (config.useKlLoss && reference === 'none')
    problems.push('reference: useKlLoss needs a reference, and reference is none')
  if (reference === 'none' && !config.useKlLoss && config.klController.coef > 0)
    problems.push('reference: klController.coef is above 0 and needs a reference; set it to 0, or give a reference')
  if (critic && advantageEstimator !== 'gae')
    problems.push(`critic: ${advantageEstimator} uses no critic; remove it, or set advantageEstimator to gae`)
  problems.push(...generatorProblems(config))
  const { evaluation } = config
  if (evaluation.nSamplesPerPrompt > 1 && evaluation.temperature === 0 && !config.useFire)
    problems.push(
      'evaluation.nSamplesPerPrompt: with evaluation.temperature 0 all samples of a prompt are equal; raise the temperature, or set it to 1',
    )
  const samples = rolloutBatchSize * config.nSamplesPerPrompt
  if (samples > mostSamples)
    problems.push(
      `rolloutBatchSize: ${rolloutBatchSize} prompts x ${config.nSamplesPerPrompt} samples = ${samples} samples per rollout; the most is ${mostSamples}`,
    )
  if (trainBatchSize !== undefined && trainBatchSize > samples)
    problems.push(
      `trainBatchSize: ${trainBatchSize} is more than the samples of a rollout (${rolloutBatchSize} prompts x ${config.nSamplesPerPrompt} samples = ${samples})`,
    )
  return problems
}

function generatorProblems(config: RlConfig): string[] {
  const { generator, maxStaleness, lora, adapter } = config
  const { type } = generator
  const problems = generatorOptionProblems(generator)
  if (generator.weights === 'adapter' && !lora && adapter === undefined)
    problems.push('generator.weights: adapter needs lora or adapter, and this run trains all weights')
  if (type === 'vllm' && config.useFire && config.firstTokenTemperature > 2 && config.topK <= 0)
    problems.push(
      'useFire: vLLM only takes temperatures up to 2. For a higher firstTokenTemperature the run samples the first token itself and needs topK: set it, for example to 16',
    )
  const form = config.structured?.kind
  if (form !== undefined && type === 'local')
    problems.push(`structured: the local engine does not support ${form}; ${structuredNeeds}`)
  if (form !== undefined && type === 'vllm' && config.useFire && config.firstTokenTemperature > 2)
    problems.push('structured: does not work with a firstTokenTemperature above 2; lower it')
  if (form !== undefined && config.tisCap !== undefined)
    problems.push('tisCap: needs sampling without filters, and structured filters every token; remove one of them')
  if (maxStaleness > 0 && type === 'local')
    problems.push('maxStaleness: needs servers; the local engine always samples from the weights in training')
  if (maxStaleness > 0 && config.tisCap === undefined)
    problems.push('maxStaleness: needs tisCap to weight samples of an older policy; set it, for example to 2')
  if (maxStaleness > 0 && config.enableEngineSleep)
    problems.push('maxStaleness: cannot be combined with enableEngineSleep: a sleeping engine does not generate')
  return problems
}

/** The part that experience generation reads. */
export function experienceOptionsOf(config: RlConfig) {
  const own = Object.keys(experienceOptions) as (keyof typeof experienceOptions)[]
  const picked = Object.fromEntries(own.map(name => [name, config[name]]).filter(([, value]) => value !== undefined))
  const chatTemplate = templateUse(config.chatTemplate)
  return { ...picked, seed: config.seed, chatTemplate } as ExperienceConfig
}

/** The part that the objective of an update reads. */
export function objectiveOptionsOf(config: RlConfig, { klCoef }: { klCoef: number }): ObjectiveOptions {
  const { loss, clipLow, clipHigh, dualClip, driftCoef, tisCap, aggregation, maxNewTokens, entropyCoef } = config
  return {
    loss,
    aggregation,
    maxNewTokens,
    entropyCoef,
    klCoef: config.useKlLoss ? klCoef : 0,
    klEstimator: config.klEstimator ?? 'k3',
    highEntropyTokenRatio: config.highEntropyTokenRatio,
    ...(clipLow === undefined ? {} : { clipLow }),
    ...(clipHigh === undefined ? {} : { clipHigh }),
    ...(dualClip === undefined ? {} : { dualClip }),
    ...(driftCoef === undefined ? {} : { driftCoef }),
    ...(tisCap === undefined ? {} : { tisCap }),
  } as ObjectiveOptions
}

/** Where the reference comes from. */
export function referenceOf(config: RlConfig): 'none' | 'adapter-off' | { directory: string; adapter?: string } {
  const { reference, lora, adapter, klController, model } = config
  const wanted = reference ?? (klController.coef > 0 ? 'initial' : 'none')
  if (wanted === 'none' || wanted === 'adapter-off') return wanted
  if (wanted !== 'initial') return { directory: wanted }
  // A new adapter changes nothing yet: without it the model is the one before training.
  if (adapter === undefined) return lora ? 'adapter-off' : { directory: model }
  return { directory: model, adapter }
}

/** How servers get the policy. Those that take no adapters get checkpoints all the same; that is known when they are connected to. */
export function weightsFor({ lora, adapter, generator }: RlConfig): 'checkpoint' | 'adapter' {
  return (lora || adapter !== undefined) && generator.weights !== 'directory' ? 'adapter' : 'checkpoint'
}

/** How many optimiser steps of the policy an iteration has. */
export function updatesPerIteration(config: RlConfig): number {
  const samples = config.rolloutBatchSize * config.nSamplesPerPrompt
  return config.updateEpochs * Math.ceil(samples / (config.trainBatchSize ?? samples))
}

/**
 * Whether the actor scores a rollout before it is trained on. Where a rollout gets exactly one step, nothing is weighed by
 * importance and KL is not part of the rewards, the step's own forward pass has the same numbers; not so with an adapter's
 * dropout, which an adapter that was trained before may have too.
 */
export function oldLogprobsOf(config: RlConfig): 'score' | 'skip' {
  const klInRewards = referenceOf(config) !== 'none' && !config.useKlLoss && config.klController.coef > 0
  const dropsOut = config.adapter !== undefined || (config.lora?.dropout ?? 0) > 0
  const oneStep = updatesPerIteration(config) === 1
  return oneStep && config.tisCap === undefined && !klInRewards && !dropsOut ? 'skip' : 'score'
}
