/** Options of the pipeline: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../data/index.js'
import { devicesOption } from '../distributed/index.js'
import { ConfigError, problemOf } from '../errors/index.js'
import { families, type Size, sizes, type TextFamily } from '../model/index.js'
import { devicePattern, expectedDevice } from '../tensor/index.js'
import {
  algorithmNames,
  type ConfigLayer,
  commonWords,
  loggersOption,
  type ResolvedConfig,
  type ResolveOptions,
  resolveConfig,
  trainings,
} from '../train/index.js'
import type { PipelineInput } from './options.generated.js'

const path = z.string().min(1)
const rate = z.number().positive()
const count = z.int().min(1)

const preferenceAlgorithms = ['dpo', 'cdpo', 'ipo', 'kto'] as const
type PreferenceAlgorithm = (typeof preferenceAlgorithms)[number]

/** A section has options of that training; the schema of the training checks them. */
const section = z.record(z.string(), z.unknown()).default({})

const randomModelSchema = z.strictObject({
  family: z.enum(families as readonly [TextFamily, ...TextFamily[]]).describe('model family'),
  size: z.enum(Object.keys(sizes) as [Size, ...Size[]]).describe('a named shape of `whetstone init`'),
  seed: z.int().min(0).default(0).describe('seed of the random weights'),
})

export const pipelineShape = {
  modelName: z.string().min(1).default('model').describe('name of the model in logs'),
  baseModel: z
    .union([path, randomModelSchema])
    .optional()
    .describe(
      'the model to start from: a model directory, or {family, size, seed} for random weights (needs tokenizerPath)',
    ),
  tokenizerPath: path
    .optional()
    .describe(
      'a directory with a tokenizer.json (default: the one of the base model; if both exist they must be equal)',
    ),
  chatTemplate: dataOptionsShape.chatTemplate.describe(
    'chat template of all stages; a section can override it: auto (the one of the tokenizer), none (text prompts are used as written), chatml or a Jinja file',
  ),
  sftModel: path.optional().describe('an existing SFT model; the SFT stage is skipped'),
  rewardModel: path.optional().describe('an existing reward model; the reward stage is skipped'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe(
      'device of all stages; a section can override it: cpu, cuda, cuda:N, or auto (a GPU if the machine has one)',
    ),
  devices: devicesOption.describe(`${devicesOption.description}; for all stages, a section can override it`),
  seed: z.int().min(0).default(0).describe('seed of all random numbers'),

  sftDataPath: dataSchema.default('data/sft_data.jsonl').describe('conversations for SFT'),
  sftEpochs: count.default(3).describe('passes over the conversations'),
  sftLr: rate.default(5e-5).describe('peak learning rate of SFT'),
  sftBatchSize: count.default(32).describe('conversations per optimiser step'),

  rewardDataPath: dataSchema.default('data/preference_data.jsonl').describe('preference data: pairs of answers'),
  rewardEpochs: count.default(5).describe('passes over the pairs; also for dpo, cdpo, ipo and kto'),
  rewardLr: rate.default(5e-5).describe('peak learning rate of the reward model'),
  rewardBatchSize: count.default(32).describe('pairs per optimiser step; also for dpo, cdpo, ipo and kto'),
  freezeRewardBackbone: z.boolean().default(false).describe('train only the head of the reward model'),

  algorithm: z
    .enum([...algorithmNames, ...preferenceAlgorithms])
    .default('ppo')
    .describe(
      'algorithm of the last stage: ppo or another with rewards such as grpo; or dpo, cdpo, ipo, kto without a reward model',
    ),
  ppoDataPath: dataSchema.default('data/ppo_prompts.jsonl').describe('prompts of the last stage'),
  ppoIterations: count.default(1000).describe('number of iterations; each is a rollout and its updates'),
  ppoLrPolicy: rate.default(1e-5).describe('peak learning rate of the policy, for every algorithm'),
  ppoLrValue: rate.default(3e-4).describe('peak learning rate of the critic, if the algorithm has one'),
  ppoBatchSize: count.default(32).describe('prompts per rollout'),
  ppoMiniBatchSize: count
    .default(8)
    .describe(
      'samples per optimiser step, at most the whole rollout (default of algorithms other than ppo: the whole rollout)',
    ),
  ppoEpochs: count
    .default(4)
    .describe('passes over the samples of each rollout (default of algorithms other than ppo: their preset)'),

  maxLength: z
    .int()
    .min(2)
    .default(512)
    .describe(
      'most tokens of a sequence (prompt and answer) in every stage (default: 512, or the context of the model if it is shorter)',
    ),
  validationShare: z
    .number()
    .gt(0)
    .max(0.9)
    .default(0.05)
    .describe('share of the rows of each stage to hold out; they decide which model is the best one'),
  saveDir: path.default('rlhf_outputs').describe('output directory'),
  saveInterval: count
    .default(100)
    .describe('optimiser steps between checkpoints, and iterations between exported policies (ppo/iteration_000100)'),
  samplePrompts: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'prompts to answer before and after each stage (default: the first four held-out prompts of the last stage)',
    ),
  loggers: loggersOption,
  logLevel: z
    .enum(['debug', 'info', 'warning', 'error'])
    .default('info')
    .describe('log verbosity of the terminal and of logs/pipeline.log'),

  sft: section.describe('more options of SFT, such as optimizer: {schedule}; see docs/sft.md'),
  reward: section.describe('more options of the reward model, such as margin; see docs/reward-model.md'),
  ppo: section.describe('more options of the last stage, such as gamma and klController; see docs/pipeline.md'),
}

export const pipelineSchema = z.strictObject(pipelineShape)
export type PipelineConfig = Readonly<z.output<typeof pipelineSchema>>
/** As a person writes it. */
export type PipelineOptions = PipelineInput

const dataPaths = ['sftDataPath', 'rewardDataPath', 'ppoDataPath'].flatMap(name => [name, `${name}.path`])
/** Trainings whose options a section takes. */
const sections = { sft: ['sft'], reward: ['reward'], ppo: ['rl', 'preference'] } as const
/** Options that name files and directories. */
export const pipelinePaths = [
  ...['baseModel', 'tokenizerPath', 'chatTemplate', 'sftModel', 'rewardModel', 'saveDir'],
  ...dataPaths,
  ...Object.entries(sections).flatMap(([section, names]) =>
    names.flatMap(name => trainings[name].options.paths!.map(path => `${section}.${path}`)),
  ),
]

/** Every option with its default: what {@link createRlhfPipeline} takes, to be changed where needed. */
export function getDefaultConfig(): PipelineConfig {
  return pipelineSchema.parse({})
}

/** Resolves a config from its layers; one error names each wrong option. */
export function resolvePipelineConfig(layers: readonly ConfigLayer[]): ResolvedConfig<PipelineConfig> {
  const resolved = resolveConfig(pipelineSchema, layers, pipelineReading)
  const problems = pipelineProblems(resolved.config)
  if (problems.length > 0) throw new ConfigError(problems.map(problemOf))
  return resolved
}

const dataNames = 'sftDataPath, rewardDataPath and ppoDataPath'
const epochNames = 'sftEpochs, rewardEpochs and ppoEpochs'
const batchNames = 'sftBatchSize, rewardBatchSize and ppoBatchSize'
const rateNames = 'sftLr, rewardLr, ppoLrPolicy and ppoLrValue'
const inSections = (option: string): string => `${option}, in the sections sft, reward and ppo`

/** Options of the trainings belong in the sections; options with the same name in the pipeline stay. */
const sectioned = Object.entries(commonWords).map(([name, here]) => [
  name,
  /^(--|device\b)/.test(here) ? here : inSections(here.replace(/,.*| \(.*/, '')),
])

/** Words of other systems. docs/migrating.md has them. */
export const pipelineOtherWords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(sectioned),
  model: 'baseModel',
  baseModelPath: 'baseModel',
  modelNameOrPath: 'baseModel',
  pretrain: 'baseModel',
  output: 'saveDir',
  outputDir: 'saveDir',
  savePath: 'saveDir',
  data: dataNames,
  dataset: dataNames,
  datasetName: dataNames,
  trainFile: dataNames,
  trainDataset: dataNames,
  inputKey: dataNames,
  labelKey: dataNames,
  referenceKey: dataNames,
  tokenizer: 'tokenizerPath',
  processingClass: 'tokenizerPath',
  maxSeqLength: 'maxLength',
  maxSeqLen: 'maxLength',
  epochs: epochNames,
  numTrainEpochs: epochNames,
  maxEpochs: epochNames,
  batchSize: batchNames,
  trainBatchSize: batchNames,
  perDeviceTrainBatchSize: batchNames,
  gradientAccumulationSteps: batchNames,
  learningRate: rateNames,
  lr: rateNames,
  gamma: 'ppo: { gamma }',
  klCoef: 'ppo: { klController: { kind: "fixed", coef } }',
  margin: 'reward: { margin }',
  stages: '--stages on the command line',
}

/** Options of the trainings that were written outside their section. */
function sectionWords(): Record<string, string> {
  const options = Object.entries(sections).map(([section, trained]) => ({
    section,
    names: trained.flatMap(name => Object.keys(trainings[name].schema.shape)),
  }))
  const names = new Set(options.flatMap(one => one.names))
  const list = new Intl.ListFormat('en-GB')
  const places = (name: string): string => {
    const found = options.flatMap(one => (one.names.includes(name) ? [one.section] : []))
    return `${found.length === 1 ? 'section' : 'sections'} ${list.format(found)}`
  }
  return Object.fromEntries([...names].map(name => [name, `${name}, in the ${places(name)}`]))
}

/** How its config is read. */
export const pipelineReading: ResolveOptions = {
  paths: pipelinePaths,
  words: trainings.rl.options.words!,
  otherWords: { ...sectionWords(), ...pipelineOtherWords },
}

function pipelineProblems({ baseModel, tokenizerPath, ...config }: PipelineConfig): string[] {
  const problems: string[] = []
  for (const section of ['sft', 'reward'] as const)
    if (config[section].keep === 'adapters')
      problems.push(
        `${section}.keep: adapters: later stages read the whole weights of ${section === 'sft' ? 'sft/best_model' : 'reward_model/best_model'}; only the last stage may keep adapters alone (ppo: { keep: adapters })`,
      )
  if (typeof baseModel === 'object' && tokenizerPath === undefined)
    problems.push('tokenizerPath: missing; a model of random weights needs a tokenizer: `whetstone tokenizer train`')
  if (tokenizerPath !== undefined && /\.(pkl|pickle|pt|bin)$/i.test(tokenizerPath))
    problems.push(
      `tokenizerPath: ${tokenizerPath} is a pickle; pickles can run code and are not supported; expected a directory with a ` +
        'tokenizer.json (save_pretrained writes one, `whetstone tokenizer train` makes one)',
    )
  return problems
}

/** Whether the last stage learns from preferences alone. */
export function isPreferenceAlgorithm(algorithm: PipelineConfig['algorithm']): algorithm is PreferenceAlgorithm {
  return (preferenceAlgorithms as readonly string[]).includes(algorithm)
}
