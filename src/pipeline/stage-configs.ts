/** Maps options of the pipeline to its trainings: the config of each stage, checked by the schema of the training. */
import { join } from 'node:path'
import { InputError } from '../errors/index.js'
import { isDefinition } from '../maths/index.js'
import {
  at,
  type ConfigLayer,
  type RawConfig,
  type ResolvedConfig,
  type Training,
  type TrainingConfig,
  type TrainingName,
  trainings,
  withValue,
} from '../train/index.js'
import { isPreferenceAlgorithm, type PipelineConfig } from './config.js'
import { type StageName, stageDirectory, usesRewardModel } from './stages.js'

/** A stage's training with its config. */
export interface StageConfig extends ResolvedConfig<TrainingConfig> {
  readonly training: TrainingName
}

/** An option of the pipeline, and the one of the stage's training that it sets. */
type Names = Readonly<Partial<Record<keyof PipelineConfig, string>>>

const shared: Names = {
  device: 'device',
  devices: 'devices',
  seed: 'seed',
  chatTemplate: 'chatTemplate',
  validationShare: 'validationShare',
  maxLength: 'maxLength',
  saveInterval: 'saveSteps',
  loggers: 'loggers',
}

/** What the options of each training are called in the pipeline's config. docs/pipeline.md has these tables. */
export const optionNames = {
  sft: {
    ...shared,
    sftDataPath: 'data',
    sftEpochs: 'epochs',
    sftLr: 'optimizer.lr',
    sftBatchSize: 'batchSize',
  },
  reward: {
    ...shared,
    rewardDataPath: 'data',
    rewardEpochs: 'epochs',
    rewardLr: 'optimizer.lr',
    rewardBatchSize: 'batchSize',
    freezeRewardBackbone: 'freezeBackbone',
  },
  rl: {
    ...shared,
    maxLength: 'promptMaxLen',
    ppoDataPath: 'data',
    ppoIterations: 'iterations',
    ppoLrPolicy: 'optimizer.lr',
    ppoLrValue: 'critic.optimizer.lr',
    ppoBatchSize: 'rolloutBatchSize',
    ppoMiniBatchSize: 'trainBatchSize',
    ppoEpochs: 'updateEpochs',
  },
  preference: {
    ...shared,
    rewardDataPath: 'data',
    rewardEpochs: 'epochs',
    ppoLrPolicy: 'optimizer.lr',
    rewardBatchSize: 'batchSize',
  },
} as const satisfies Record<TrainingName, Names>

/** Defaults of the pipeline: constants of the original, which its config could not change. */
export const stageDefaults = {
  sft: { optimizer: { weightDecay: 0.01, schedule: 'cosine' } },
  reward: { centerCoef: 0.01, optimizer: { weightDecay: 0.01, schedule: 'cosine', warmupRatio: 0.1 } },
  ppo: {
    gamma: 0.99,
    lambd: 0.95,
    entropyCoef: 0.01,
    targetKl: 0.01,
    maxNewTokens: 50,
    optimizer: { weightDecay: 0.01, maxGradNorm: 0.5 },
    critic: { optimizer: { weightDecay: 0.01, maxGradNorm: 0.5 } },
  },
  /** Other algorithms by rewards. */
  rl: { maxNewTokens: 50 },
  preference: {},
} as const satisfies Record<string, RawConfig>

interface StageModels {
  /** The directory that the stage's model begins as. */
  readonly model: string
  /** Tokens that it takes. */
  readonly context: number
}

export function stageConfig(
  stage: StageName,
  pipeline: ResolvedConfig<PipelineConfig>,
  { model, context }: StageModels,
): StageConfig {
  const { config } = pipeline
  const training = trainingOf(stage, config)
  const output = stageDirectory(config, stage)
  const own = config[stage]
  const { options, names } = translated(training, pipeline, context)
  refuseTwice(stage, names, pipeline)
  const fixed = fixedOptions(training, config, { model, output })
  const setHere = Object.keys(fixed).filter(name => Object.hasOwn(own, name))
  if (setHere.length > 0)
    throw new InputError(setHere.map(name => `${stage}.${name}: the pipeline sets it; remove it`).join('\n'))
  const defaults = training === 'rl' && config.algorithm === 'ppo' ? stageDefaults.ppo : stageDefaults[training]
  const layers: ConfigLayer[] = [
    { origin: 'pipeline', values: defaults },
    { origin: 'pipeline options', values: options },
    ...sectionLayers(stage, pipeline),
    { origin: 'pipeline', values: fixed },
  ]
  try {
    const { config: own, origins } = (trainings[training] as Training).resolve(layers)
    return { training, config: own, origins }
  } catch (error) {
    if (!(error instanceof InputError) || stage !== 'ppo') throw error
    const page = { rl: 'docs/rl.md', preference: 'docs/preferences.md' }[training as 'rl' | 'preference']
    const remedy = `With algorithm ${config.algorithm} the section ppo takes the options of ${page}.`
    throw new InputError(error.message, { cause: error, remedy })
  }
}

/** A section of the config, by where its options come from. */
function sectionLayers(stage: StageName, { config, origins }: ResolvedConfig<PipelineConfig>): ConfigLayer[] {
  const layers = new Map<string, RawConfig>()
  for (const [path, origin] of Object.entries(origins)) {
    if (!path.startsWith(`${stage}.`)) continue
    const [, ...keys] = path.split('.')
    layers.set(origin, withValue(layers.get(origin) ?? {}, keys.join('.'), at(config[stage], keys.join('.'))))
  }
  if (layers.size === 0) layers.set('config', {})
  // Paths are whole already. The directory says that what is missing is missing in a file.
  return [...layers].map(([origin, values]) => ({ origin: `${origin}: ${stage}`, values, directory: process.cwd() }))
}

function trainingOf(stage: StageName, { algorithm }: PipelineConfig): TrainingName {
  if (stage !== 'ppo') return stage
  return isPreferenceAlgorithm(algorithm) ? 'preference' : 'rl'
}

/** The description of rewards that the pipeline writes for its own reward model. */
export function rewardsFile(config: PipelineConfig): string {
  return join(stageDirectory(config, 'ppo'), 'rewards.json')
}

/** Options that a section must not set, because the stages would no longer fit together. */
function fixedOptions(
  training: TrainingName,
  config: PipelineConfig,
  { model, output }: { model: string; output: string },
): RawConfig {
  if (training === 'rl')
    return {
      model,
      output,
      algorithm: config.algorithm,
      ...(usesRewardModel(config) ? { rewards: rewardsFile(config) } : {}),
    }
  const named = training === 'preference' && !isDefinition(config.ppo.loss)
  return { model, output, ...(named ? { loss: config.algorithm } : {}) }
}

/** Options of the pipeline as options of a training. */
function translated(
  training: TrainingName,
  { config, origins }: ResolvedConfig<PipelineConfig>,
  context: number,
): { options: RawConfig; names: Names } {
  const given = (name: string): boolean => isGiven(origins, name)
  const names = namesOf(training, { config, origins })
  const values: Record<string, unknown> = { ...config }
  if (training === 'rl') {
    const { nSamplesPerPrompt = 1 } = config.ppo as { nSamplesPerPrompt?: number }
    if (!given('ppoMiniBatchSize'))
      values.ppoMiniBatchSize = Math.min(config.ppoMiniBatchSize, config.ppoBatchSize * Number(nSamplesPerPrompt))
  }
  const section = config[sectionOf(training)]
  const maxLength = given('maxLength') ? config.maxLength : Math.min(config.maxLength, context)
  values.maxLength = training === 'rl' ? promptLength(maxLength, section) : maxLength
  let options: RawConfig = training === 'rl' ? { exportEvery: config.saveInterval } : {}
  for (const [name, path] of Object.entries(names)) options = withValue(options, path, values[name])
  return { options, names }
}

/** Options of the pipeline that a stage reads. */
export function usedNames(stage: StageName, pipeline: ResolvedConfig<PipelineConfig>): string[] {
  return Object.keys(namesOf(trainingOf(stage, pipeline.config), pipeline))
}

/** Those of a training that count in this pipeline. */
function namesOf(training: TrainingName, { config, origins }: ResolvedConfig<PipelineConfig>): Names {
  const names: Record<string, string> = { ...optionNames[training] }
  // Other algorithms are presets with answers of their own.
  if (training === 'rl' && config.algorithm !== 'ppo') {
    for (const name of ['ppoMiniBatchSize', 'ppoEpochs']) if (!isGiven(origins, name)) delete names[name]
    delete names.ppoLrValue
  }
  // Files of their own take the place of a share.
  if (config[sectionOf(training)].validationData !== undefined) delete names.validationShare
  return names
}

const sectionOf = (training: TrainingName): StageName =>
  training === 'sft' || training === 'reward' ? training : 'ppo'

/** Tokens of a sequence that an answer leaves for the prompt. */
function promptLength(maxLength: number, { maxNewTokens = stageDefaults.rl.maxNewTokens }: RawConfig): number {
  const left = maxLength - Number(maxNewTokens)
  if (left < 1)
    throw new InputError(
      `ppo.maxNewTokens: ${maxNewTokens} leaves no room for a prompt in sequences of ${maxLength} tokens (maxLength, or the model's context)`,
    )
  return left
}

const isGiven = (origins: Readonly<Record<string, string>>, name: string): boolean =>
  Object.entries(origins).some(
    ([path, origin]) => origin !== 'default' && (path === name || path.startsWith(`${name}.`)),
  )

/** An option under both of its names has two values: ambiguous. */
function refuseTwice(stage: StageName, names: Names, { config, origins }: ResolvedConfig<PipelineConfig>): void {
  // These are of all stages, and a section may have its own.
  const problems = Object.entries(names)
    .filter(([name]) => !Object.hasOwn(shared, name))
    .filter(([name, path]) => isGiven(origins, name) && at(config[stage], path) !== undefined)
    .map(([name, path]) => `${stage}.${path}: ${name} sets the same option; give only one of them`)
  if (problems.length > 0) throw new InputError(problems.join('\n'))
}
