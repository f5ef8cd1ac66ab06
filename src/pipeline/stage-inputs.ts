/** Fingerprints of the inputs of a stage: a stage with the same inputs is done. */
import { resolve } from 'node:path'
import type { DataReport, DataSpec } from '../data/index.js'
import { InputError } from '../errors/index.js'
import type { Definition } from '../maths/index.js'
import { type RewardNames, rewardFiles } from '../reward/index.js'
import { definitionInputs, type RawConfig, type RlConfig } from '../train/index.js'
import { directoryFingerprint, fileFingerprint, textFingerprint } from './fingerprints.js'
import type { StageConfig } from './stage-configs.js'
import type { StageInputs } from './stage-record.js'

/** Options that do not affect the trained weights: device, speed, intervals and outputs. */
const indifferent: readonly string[] = [
  ...['output', 'device', 'tokenBudget', 'gradientCheckpointing', 'microRolloutBatchSize', 'packingSamples', 'packing'],
  ...[
    'patchBudget',
    'enableEngineSleep',
    'generator',
    'saveSteps',
    'keepCheckpoints',
    'exportEvery',
    'sampleEvery',
    'loggers',
  ],
]
/** Options that name files; their bytes are looked at instead. */
const files: readonly string[] = ['model', 'adapter', 'reference', 'data', 'validationData', 'rewards']

interface InputSources {
  readonly data: readonly DataReport[]
  readonly rewardModel: string | undefined
  readonly functions: Readonly<Record<string, ((...args: never[]) => unknown) | undefined>>
}

export async function stageInputs(resolved: StageConfig, sources: InputSources): Promise<StageInputs> {
  const { config } = resolved
  const { rewardModel } = sources
  const directories = { model: config.model, ...otherDirectories(config as RawConfig), rewardModel }
  const models: Record<string, string> = {}
  for (const [name, directory] of Object.entries(directories))
    if (directory !== undefined) models[name] = await modelFingerprint(directory)
  return { ...(await knownInputs(resolved, sources)), models }
}

/** What is known before the models of earlier stages are made. */
export async function knownInputs(
  { training, config }: StageConfig,
  { data, rewardModel, functions }: InputSources,
): Promise<Omit<StageInputs, 'models'>> {
  const { critic, ptx, ...rest } = config as typeof config & { critic?: RawConfig; ptx?: RawConfig }
  const definitions = await definitionFingerprints(config)
  const left = Object.entries(rest)
    .filter(([key]) => !indifferent.includes(key) && !files.includes(key))
    .map(([key, value]) => [key, key in definitions ? (value as Definition).name : value] as const)
  const options = {
    training,
    ...Object.fromEntries(left),
    ...(critic ? { critic: { ...critic, model: undefined } } : {}),
    ...(ptx ? { ptx: { ...ptx, data: undefined } } : {}),
    sources: [config.data, config.validationData].map(sourceSettings),
  }
  const paths = data.flatMap(report => report.files.map(({ path }) => resolve(path)))
  const sources = Object.entries(functions).filter(([, made]) => made !== undefined)
  const texts = Object.fromEntries(sources.map(([name, made]) => [name, textFingerprint(String(made))]))
  const changeable = { ...texts, ...definitions }
  const ownRewards = training === 'rl' && rewardModel === undefined
  return {
    config: JSON.parse(JSON.stringify(options)),
    data: await Promise.all(paths.map(fileFingerprint)),
    functions: ownRewards
      ? { ...changeable, rewards: await rewardsFingerprint((config as RlConfig).rewards ?? []) }
      : changeable,
  }
}

/** Of a module of rewards; or of a description of them: with the modules and models that it names, and what they import. */
async function rewardsFingerprint(file: RewardNames): Promise<string> {
  const { files, models } = await rewardFiles(file)
  const hashes: string[] = []
  for (const path of files) hashes.push(await fileFingerprint(path))
  for (const directory of models) hashes.push((await directoryFingerprint(directory)) ?? '')
  return textFingerprint(hashes.join('\n'))
}

/** Of losses, estimators and generators in files, by option: the file itself and what it imports by a path. */
async function definitionFingerprints(config: object): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [option, inputs] of Object.entries(await definitionInputs(config))) {
    const hashes = await Promise.all(inputs.map(({ path }) => fileFingerprint(path)))
    found[option] = textFingerprint(hashes.join('\n'))
  }
  return found
}

/** Of a data option, what is not a path: weights and names of columns. */
function sourceSettings(spec: DataSpec | undefined): unknown[] {
  const sources = spec === undefined ? [] : Array.isArray(spec) ? spec : [spec]
  return sources.map(source => (typeof source === 'string' ? {} : { ...source, path: undefined }))
}

/** Models that are options of their own; words such as `initial` are none. */
function otherDirectories(config: RawConfig): Record<string, string | undefined> {
  const directory = (value: unknown): string | undefined =>
    typeof value === 'string' && /[\\/]/.test(value) ? value : undefined
  return {
    adapter: directory(config.adapter),
    reference: directory(config.reference),
    critic: directory((config.critic as RawConfig | undefined)?.model),
  }
}

async function modelFingerprint(directory: string): Promise<string> {
  const found = await directoryFingerprint(directory)
  if (found === undefined) throw new InputError(`${directory}: expected a model directory, but it does not exist`)
  return found
}
