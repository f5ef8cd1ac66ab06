/** Options of experience generation from a config: the models, the prompts, the rewards and how responses are made. */
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../data/index.js'
import { devicesOption, devicesProblem } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import { ExperienceConfigError, experienceShape, resolveExperienceConfig } from '../experience/index.js'
import { klControllerSchema } from '../maths/index.js'
import { ruleNames } from '../reward/index.js'
import { devicePattern, expectedDevice } from '../tensor/index.js'
import { chatTemplateWords, templateUse } from '../text/index.js'
import {
  type ConfigLayer,
  generatorOptionProblems,
  generatorSchema,
  mediaSchema,
  type PlannedData,
  type PlannedUse,
  type ResolvedConfig,
  resolveConfig,
  rewardRunShape,
  rewardsSchema,
  type TrainingPlan,
  withOrigin,
} from '../train/index.js'

const path = z.string().min(1)
const { promptTemplate, systemPrompt, chatTemplate, maxBadRows } = dataOptionsShape

const ownShape = {
  model: path.describe('the actor: a Hugging Face model directory, or an id of the Hub: org/name'),
  adapter: path.optional().describe('a LoRA adapter of the actor in PEFT format'),
  reference: path
    .optional()
    .describe(
      'the reference: the model that KL is measured to. A directory, or adapter-off (the actor without its adapter)',
    ),
  critic: path.optional().describe('the critic, for gae: a directory'),
  device: z
    .string()
    .regex(devicePattern, expectedDevice)
    .default('auto')
    .describe('device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one)'),
  devices: devicesOption,
  data: dataSchema.describe('prompts: a file, a glob pattern, a source with settings, or a list of these'),
  promptTemplate,
  systemPrompt,
  chatTemplate,
  maxBadRows,
  rewards: rewardsSchema,
  ...rewardRunShape,
  output: path.describe('file for the experiences, one line of JSON each; - for standard output'),
  rolloutBatchSize: z.int().min(1).default(128).describe('prompts per batch; advantages are normalised over a batch'),
  media: mediaSchema.optional().describe('how to read images and videos'),
  generator: generatorSchema
    .prefault({})
    .describe('the engine that generates: type local, vllm or sglang, and urls of servers'),
  klController: klControllerSchema
    .optional()
    .describe('coefficient of the KL to the reference: fixed (coef), or adaptive (coef, target, horizon)'),
}

export const experienceSchema = z.strictObject({ ...ownShape, ...experienceShape })
export type ExperienceFile = z.output<typeof experienceSchema>

/** How a config of experiences is resolved. */
export const experienceOptions = {
  /** Options that name files or directories; those in a config file are relative to it. */
  paths: [
    ...['model', 'adapter', 'reference', 'critic', 'data', 'data.path', 'rewards', 'output', 'chatTemplate'],
    'generator.weightsDirectory',
  ],
  /** Values of path options that are not paths: standard output, adapter-off, names of templates. */
  words: ['-', 'adapter-off', ...chatTemplateWords, ...ruleNames],
  otherWords: {
    prompts: 'data',
    promptColumn: 'data: { path, columns: { prompt } }',
    labelColumn: 'data: { path, columns: { label } }',
    targetColumn: 'data: { path, columns: { target } }',
    referenceColumn: 'data: { path, columns: { target } }',
    engineType: 'generator: { type }',
    initialModel: 'reference',
  },
}

/** A config from its layers; an error names each option that is wrong. */
export function resolveExperience(layers: readonly ConfigLayer[]): ResolvedConfig<ExperienceFile> {
  const resolved = resolveConfig(experienceSchema, layers, experienceOptions)
  const { config, origins } = resolved
  const wrong = generatorOptionProblems(config.generator)
  const devices = devicesProblem(config)
  if (devices !== undefined) wrong.push(`devices: ${devices}`)
  try {
    resolveExperienceConfig(makerOptions(config), { critic: config.critic !== undefined })
  } catch (error) {
    if (!(error instanceof ExperienceConfigError)) throw error
    wrong.push(...error.problems.map(({ message }) => message))
  }
  if (wrong.length > 0) throw new InputError(wrong.map(problem => withOrigin(problem, origins)).join('\n'))
  return resolved
}

/** The options of the maker alone. */
export function makerOptions(config: ExperienceFile) {
  const own = Object.keys(experienceShape) as (keyof typeof experienceShape)[]
  const given = own.filter(name => config[name] !== undefined).map(name => [name, config[name]])
  return { ...Object.fromEntries(given), chatTemplate: templateUse(config.chatTemplate) } as Pick<
    ExperienceFile,
    keyof typeof experienceShape
  > & { chatTemplate: 'auto' | 'none' }
}

/** What it will open: models, none of which is trained, and prompts in the order of their files. */
export function planExperience(config: ExperienceFile): TrainingPlan {
  const { model, adapter, reference, critic, rolloutBatchSize, nSamplesPerPrompt, maxNewTokens, promptMaxLen } = config
  const use = { role: 'language', trained: 'nothing', computes: 'yes' } as const
  const others: PlannedUse[] = []
  if (reference !== undefined && reference !== 'adapter-off')
    others.push({ ...use, name: 'the reference', option: 'reference', directory: reference })
  if (critic !== undefined)
    others.push({ ...use, role: 'value', name: 'the critic', option: 'critic', directory: critic })
  const samples = rolloutBatchSize * nSamplesPerPrompt
  const data: PlannedData = {
    option: 'data',
    kind: 'prompts',
    spec: config.data,
    options: { ...config, shuffle: false } as PlannedData['options'],
  }
  return {
    models: [{ ...use, name: 'the actor', option: 'model', directory: model, adapter }, ...others],
    data: [data],
    rewards: config.rewards,
    device: config.device,
    devices: config.devices,
    gradientCheckpointing: false,
    sequences: Math.min(samples, config.microRolloutBatchSize),
    generation: {
      samples,
      samplesPerPrompt: config.nSamplesPerPrompt,
      promptMaxLen,
      promptTruncation: config.promptTruncation,
      maxNewTokens,
      maxInFlight: config.generator.maxInFlight,
      engine: config.generator.type === 'local' ? 'here' : 'elsewhere',
    },
    chatTemplate: config.chatTemplate,
    seed: config.seed,
  }
}
