/** Options of a reinforcement learning run: one schema, whose descriptions are the help and the docs. */
import { dirname } from 'node:path'
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../../data/index.js'
import { devicesProblem } from '../../distributed/index.js'
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
  definitionOption,
  estimatorOf,
  importanceProblems,
  isLoss,
  klControllerSchema,
  type ObjectiveOptions,
  policyLossNames,
  policyLossOf,
  resolveObjectiveOptions,
} from '../../maths/index.js'
import { ruleNames } from '../../reward/index.js'
import { chatTemplateWords, templateUse } from '../../text/index.js'
import { keepProblem, modelShape, optimizerSchema, path, runShape } from '../config/common.js'
import { environmentShape, hasEnvironment, toolNames } from '../config/environment.js'
import { generatorOptionProblems, generatorSchema } from '../config/generator.js'
import { rlOtherWords } from '../config/other-words.js'
import { type ConfigLayer, configError, type RawConfig, type ResolvedConfig, resolveConfig } from '../config/resolve.js'
import { rewardRunShape, rewardsSchema } from '../config/rewards.js'
import { type AlgorithmDefinition, algorithmNames, algorithmOf, isAlgorithm } from './algorithms.js'

const { seed: _, ...experienceOptions } = experienceShape
const { validationData, validationShare, promptTemplate, systemPrompt, chatTemplate, maxBadRows, shuffle } =
  dataOptionsShape

const criticSchema = z.strictObject({
  model: path.optional().describe('initial critic (default: the trained model with a new value head of zeros)'),
  optimizer: optimizerSchema(1e-5).describe('optimiser of the critic'),
  valueClip: z
    .number()
    .positive()
    .nullable()
    .default(0.2)
    .describe('value clipping: the largest change of a value since the rollout; null: no clipping'),
  warmupIterations: z.int().min(0).default(0).describe('iterations at the start that train only the critic'),
})

const ptxSchema = z.strictObject({
  data: dataSchema.describe('supervised data: conversations or texts, as for SFT'),
  coef: z.number().positive().default(0.1).describe('weight of the supervised loss'),
  batchSize: z.int().min(1).default(16).describe('rows per optimiser step'),
  maxLength: dataOptionsShape.maxLength,
})

const evaluationSchema = z.strictObject({
  every: z
    .int()
    .min(1)
    .default(10)
    .describe('iterations between evaluations; the run also evaluates at its start and its end'),
  temperature: generationShape.temperature.default(0).describe('sampling temperature; 0: greedy decoding'),
  nSamplesPerPrompt: z.int().min(1).default(1).describe('samples per held-out prompt'),
  maxPrompts: z.int().min(1).default(256).describe('most held-out prompts to use: the first ones'),
})

const rlShape = {
  algorithm: definitionOption(algorithmNames, { what: 'an algorithm', accepts: isAlgorithm })
    .default('grpo')
    .describe(
      'preset of options, or a file with your own (defineAlgorithm); the run prints the options it sets, and the config can override them',
    ),
  ...modelShape,
  ...runShape,
  data: dataSchema.describe('prompts: a file or a glob pattern, a source with settings, or a list of these'),
  validationData,
  validationShare,
  promptTemplate,
  systemPrompt,
  chatTemplate,
  maxBadRows,
  shuffle,
  rewards: rewardsSchema
    .optional()
    .describe(`${rewardsSchema.description}; not needed where an environment gives rewards`),
  ...environmentShape,
  ...rewardRunShape,
  reference: path
    .optional()
    .describe(
      'the reference: the model that KL is measured to. A directory, initial (the model before training), adapter-off (the LoRA model without its adapter) or none (default: initial if the KL coefficient is above 0)',
    ),
  iterations: z
    .int()
    .min(1)
    .optional()
    .describe('number of iterations; each is a rollout and its updates (default: from epochs)'),
  epochs: z.int().min(1).default(1).describe('passes over the prompts; not used if iterations is set'),
  rolloutBatchSize: z
    .int()
    .min(1)
    .max(2 ** 20)
    .default(32)
    .describe('prompts per rollout'),
  trainBatchSize: z.int().min(1).optional().describe('samples per optimiser step (default: the whole rollout)'),
  updateEpochs: z.int().min(1).default(1).describe('passes over the samples of each rollout'),
  ...experienceOptions,
  generator: generatorSchema.prefault({}).describe('the engine that generates the samples'),
  maxStaleness: z
    .int()
    .min(0)
    .default(0)
    .describe(
      'how many iterations ahead a rollout may start while earlier ones train; the run drops older samples. Needs servers and tisCap',
    ),
  klController: klControllerSchema
    .default({ kind: 'fixed', coef: 0.01 })
    .describe('coefficient of the KL to the reference: fixed (coef), or adaptive (coef, target, horizon)'),
  loss: definitionOption(policyLossNames, { what: 'a policy loss', accepts: isLoss('policy') })
    .default('ppo')
    .describe('policy loss: the name of one, or a file with your own (defineLoss)'),
  lossOptions: z.record(z.string(), z.unknown()).optional().describe('options of your own loss'),
  clipLow: z
    .number()
    .min(0)
    .optional()
    .describe('lower clipping bound: the ratio is clipped to at least 1 - clipLow (default 0.2)'),
  clipHigh: z
    .number()
    .min(0)
    .optional()
    .describe('upper clipping bound: the ratio is clipped to at most 1 + clipHigh (default 0.2)'),
  dualClip: z.number().gt(1).optional().describe('dual clip: largest ratio of tokens with a negative advantage (ppo)'),
  driftCoef: z.number().min(0).optional().describe('coefficient of the drift from the old policy (cpg)'),
  tisCap: z
    .number()
    .positive()
    .optional()
    .describe(
      'truncated importance sampling: weight each token by its trainer probability / engine probability, at most this',
    ),
  aggregation: z
    .enum(aggregations)
    .default('seq-mean-token-mean')
    .describe('how token losses are aggregated to one number'),
  entropyCoef: z.number().min(0).default(0).describe('coefficient of the entropy bonus'),
  targetKl: z
    .number()
    .positive()
    .optional()
    .describe(
      'stop the updates of an iteration when the KL between the new policy and the sampling policy is above this',
    ),
  optimizer: optimizerSchema(1e-6).describe('optimiser of the policy'),
  critic: criticSchema.optional().describe('options of the critic, which gae needs'),
  ptx: ptxSchema.optional().describe('supervised data that every update also trains on'),
  emaDecay: z
    .number()
    .gt(0)
    .lt(1)
    .optional()
    .describe('decay of an exponential moving average of the policy weights; the run exports it as ema_model'),
  evaluation: evaluationSchema
    .prefault({})
    .describe('evaluation on held-out prompts (validationData or validationShare)'),
  exportEvery: z
    .int()
    .min(1)
    .optional()
    .describe('iterations between exports of the policy (iteration_000100, ...); the run keeps all of them'),
  sampleEvery: z.int().min(1).default(10).describe('iterations between logged samples'),
  saveTrajectories: z
    .boolean()
    .default(false)
    .describe(
      'write samples of each iteration, with all numbers of their tokens, to trajectories/ in the run directory',
    ),
  numTrajectoriesToSave: z
    .int()
    .min(1)
    .default(10)
    .describe('with saveTrajectories: number of samples of each iteration to write'),
}

export const rlSchema = z.strictObject(rlShape)
export type RlConfig = Readonly<z.output<typeof rlSchema>>

/** Options that name files or directories; those in a config file are relative to it. */
export const rlPaths: readonly string[] = [
  ...['environment', 'environment.directory', 'tools'],
  ...['model', 'output', 'adapter', 'rewards', 'reference', 'critic.model', 'generator.weightsDirectory'],
  'chatTemplate',
  ...['data', 'data.path', 'validationData', 'validationData.path', 'ptx.data', 'ptx.data.path'],
]
/** Values of path options that are no paths. */
export const rlWords: readonly string[] = ['initial', 'adapter-off', ...chatTemplateWords, ...ruleNames, ...toolNames]

/** Resolves the config of a run from its layers, with the preset below them; one error lists every wrong option. */
export function resolveRlConfig(layers: readonly ConfigLayer[]): ResolvedConfig<RlConfig> & { preset: string } {
  const { name: preset, set, file } = presetOf(layers)
  const values = withoutIdle(set, lastOf(layers, 'loss') ?? set.loss)
  const base: ConfigLayer = { origin: `preset ${preset}`, values, ...(file ? { directory: dirname(file) } : {}) }
  const resolved = resolveConfig(rlSchema, [base, ...layers], {
    paths: rlPaths,
    words: rlWords,
    otherWords: rlOtherWords,
  })
  const problems = rlProblems(resolved.config)
  if (problems.length > 0) throw configError(problems, resolved.origins, layers)
  const { config } = resolved
  const critic = config.critic ?? (needsCritic(config) ? criticSchema.parse({}) : undefined)
  return { ...resolved, config: critic ? { ...config, critic } : config, preset }
}

function lastOf(layers: readonly ConfigLayer[], option: string): unknown {
  return layers.map(({ values }) => values[option]).findLast(value => value !== undefined)
}

function presetOf(layers: readonly ConfigLayer[]): AlgorithmDefinition {
  const given = lastOf(layers, 'algorithm')
  return isAlgorithm(given) ? given : algorithmOf(algorithmNames.find(name => name === given) ?? 'grpo')
}

/** Options of policy losses that a config has beside `lossOptions`. */
const lossOptionNames = ['clipLow', 'clipHigh', 'dualClip', 'driftCoef'] as const

/** A preset without the options that another loss does not have. */
function withoutIdle(set: RawConfig, loss: unknown): RawConfig {
  const definition = isLoss('policy')(loss) ? loss : policyLossNames.find(name => name === loss)
  if (definition === undefined) return set
  const { shape } = policyLossOf(definition).options
  const idle: readonly string[] = lossOptionNames.filter(name => !(name in shape))
  return Object.fromEntries(Object.entries(set).filter(([name]) => !idle.includes(name)))
}

/** Whether its estimator needs the values of a critic. */
export function needsCritic({ advantageEstimator }: Pick<RlConfig, 'advantageEstimator'>): boolean {
  return estimatorOf(advantageEstimator).values === 'needed'
}

/** All samples of a rollout are in memory at once. */
const mostSamples = 10_000_000

/** Contradicting options. */
export function rlProblems(config: RlConfig): string[] {
  const problems: string[] = []
  const attempt = (check: () => void): void => {
    try {
      check()
    } catch (error) {
      const known = error instanceof ExperienceConfigError ? error.problems : [error as Error]
      problems.push(...known.map(({ message }) => message))
    }
  }
  const { reference, lora, adapter, critic, trainBatchSize, rolloutBatchSize } = config
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
  if (critic && !needsCritic(config))
    problems.push(
      `critic: ${estimatorOf(config.advantageEstimator).name} uses no critic; remove it, or set advantageEstimator to gae`,
    )
  const keep = keepProblem(config)
  if (keep !== undefined) problems.push(`keep: ${keep}`)
  const devices = devicesProblem(config)
  if (devices !== undefined) problems.push(`devices: ${devices}`)
  problems.push(...generatorProblems(config), ...episodeProblems(config))
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

/** What episodes do not go together with. */
function episodeProblems(config: RlConfig): string[] {
  const problems: string[] = []
  const { rewards, environment, tools, episode, aggregation } = config
  if (!hasEnvironment(config)) {
    if (rewards === undefined)
      problems.push(`rewards: missing; ${rewardsSchema.description}. Or give environment or tools`)
    if (episode) problems.push('episode: needs environment or tools')
    return problems
  }
  if (environment !== undefined && tools !== undefined)
    problems.push('tools: the environment has its own tools; give environment or tools')
  if (config.stop.length > 0)
    problems.push('stop: a stop text may end inside a token, and turns go on after it; remove it')
  if (config.ignoreEos) problems.push('ignoreEos: turns end with a token; remove it')
  if (config.useFire) problems.push('useFire: does not work with episodes; remove it')
  if (config.chatTemplate === 'none')
    problems.push('chatTemplate: episodes are conversations and need a chat template; remove none')
  if (episode?.history === 'template') {
    if (aggregation !== 'token-mean')
      problems.push(
        `aggregation: ${aggregation} averages over sequences, and with episode.history template an episode may be several; set token-mean`,
      )
    if (['gspo', 'gmpo'].includes(policyLossOf(config.loss).name))
      problems.push(
        `loss: ${policyLossOf(config.loss).name} has one ratio per sequence, and with episode.history template an episode may be several; choose another loss`,
      )
  }
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
  const { loss, lossOptions, tisCap, aggregation, maxNewTokens, entropyCoef } = config
  const given = lossOptionNames.map(name => [name, config[name]]).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(given),
    ...lossOptions,
    loss,
    aggregation,
    maxNewTokens,
    entropyCoef,
    klCoef: config.useKlLoss ? klCoef : 0,
    klEstimator: config.klEstimator ?? 'k3',
    highEntropyTokenRatio: config.highEntropyTokenRatio,
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

/** How servers get the policy. Servers without adapter support get checkpoints; this is known after connecting. */
export function weightsFor({ lora, adapter, generator }: RlConfig): 'checkpoint' | 'adapter' {
  return (lora || adapter !== undefined) && generator.weights !== 'directory' ? 'adapter' : 'checkpoint'
}

/** How many optimiser steps of the policy an iteration has. */
export function updatesPerIteration(config: RlConfig): number {
  const samples = config.rolloutBatchSize * config.nSamplesPerPrompt
  return config.updateEpochs * Math.ceil(samples / (config.trainBatchSize ?? samples))
}

/**
 * Whether the actor scores a rollout before training. If a rollout has exactly one step, no importance weights are used and KL is
 * not part of the rewards, the forward pass of the step gives the same numbers; not with dropout of an adapter, which an existing
 * adapter may have too.
 */
export function oldLogprobsOf(config: RlConfig): 'score' | 'skip' {
  const klInRewards = referenceOf(config) !== 'none' && !config.useKlLoss && config.klController.coef > 0
  const dropsOut = config.adapter !== undefined || (config.lora?.dropout ?? 0) > 0
  const oneStep = updatesPerIteration(config) === 1
  return oneStep && config.tisCap === undefined && !klInRewards && !dropsOut ? 'skip' : 'score'
}
