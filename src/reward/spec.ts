/** Sources from a description, and how they become one. */
import { readFile } from 'node:fs/promises'
import type { Device, DType } from '../tensor/index.js'
import { type RewardEngineOptions, resolveRewards } from './engine-options.js'
import { RewardConfigError } from './errors.js'
import type { LoadRewardsOptions } from './load.js'
import { modelReward } from './model-source.js'
import { fileOptionsOf, openRewardFile } from './process/reward-file.js'
import { remoteReward } from './remote/remote-source.js'
import { rewardDirectory } from './reward-directory.js'
import { exactMatch, format, jsonSchema, length, numericAnswer, pattern, wordList } from './rules/index.js'
import type { RewardSource } from './source.js'
import type { RewardSpec, SourceSpec } from './spec-schema.js'

/** Engine options from a description with absolute paths. */
export async function openSpec(spec: RewardSpec, options: LoadRewardsOptions = {}): Promise<RewardEngineOptions> {
  const { sources = {}, ...rest } = spec
  const made: RewardSource[] = []
  try {
    for (const [name, source] of Object.entries(sources)) made.push(await makeSource(name, source, options))
    resolveRewards({ ...(rest as Omit<RewardEngineOptions, 'sources'>), sources: made })
  } catch (error) {
    for (const source of made) await source.close?.()
    throw error
  }
  return { ...(rest as Omit<RewardEngineOptions, 'sources'>), sources: made }
}

async function makeSource(name: string, spec: SourceSpec, options: LoadRewardsOptions): Promise<RewardSource> {
  switch (spec.type) {
    case 'rule':
      return makeRule(name, spec)
    case 'remote':
      return makeRemote(name, spec)
    case 'model':
      return makeModel(name, spec, options)
    case 'function':
      return { ...(await functionIn(spec.file, options)), name }
  }
}

function makeRule(name: string, spec: SourceSpec & { type: 'rule' }): RewardSource {
  const { type: _, ...given } = spec
  const make = {
    'exact-match': exactMatch,
    'numeric-answer': numericAnswer,
    format,
    length,
    pattern,
    'json-schema': jsonSchema,
    'word-list': wordList,
  }[spec.rule] as (options: object) => RewardSource
  return make(defined({ ...given, name }))
}

async function makeRemote(name: string, spec: SourceSpec & { type: 'remote' }): Promise<RewardSource> {
  const { type: _, apiKeyEnv, caFile, ...given } = spec
  const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]
  if (apiKeyEnv !== undefined && !apiKey)
    throw new RewardConfigError(`reward "${name}": the environment variable ${apiKeyEnv} (apiKeyEnv) is not set`)
  const tls = caFile === undefined ? undefined : { ca: await readFile(caFile) }
  return remoteReward(defined({ ...given, name, apiKey, tls }))
}

async function makeModel(
  name: string,
  spec: SourceSpec & { type: 'model' },
  run: LoadRewardsOptions,
): Promise<RewardSource> {
  // Loaded here alone: rewards without a model need no libtorch.
  const [{ LocalModel, MultimodalProcessor }, { cudaDevice }, { Tokenizer }] = await Promise.all([
    import('../model/index.js'),
    import('../tensor/index.js'),
    import('../text/index.js'),
  ])
  const { commits, signal } = run
  const { directory, adapter } = await rewardDirectory(spec.path, { commits, signal }).catch(error => {
    if (error instanceof RewardConfigError) throw new RewardConfigError(`reward "${name}": ${error.message}`)
    throw error
  })
  const tokenizer = await Tokenizer.load(directory)
  const place = await rewardModelPlace(spec, run)
  if (place.device !== 'cpu' && !cudaDevice(place.device))
    throw new RewardConfigError(
      `reward "${name}": device: there is no ${place.device}; \`whetstone doctor\` lists the devices`,
    )
  const shares = spec.device === undefined && run.loadModel !== undefined
  const model = shares
    ? await run.loadModel!(directory, { dtype: place.dtype, adapter })
    : await LocalModel.load(directory, { role: 'reward', ...place, ...defined({ adapter }) })
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  const source = modelReward({
    name,
    model,
    tokenizer,
    ...defined({ processor: await MultimodalProcessor.of(model, directory, { encode }) }),
    ...defined({ batchTokens: spec.batchTokens, policyTokenizer: run.tokenizer }),
  })
  return { ...source, close: async () => model.dispose() }
}

/** The device and dtype of a reward model: its own, or those of the run. The run's dtype is meant for the run's device. */
export async function rewardModelPlace(
  own: { device?: string | undefined; dtype?: DType | undefined },
  run: { device?: string | undefined; dtype?: DType | undefined },
): Promise<{ device: Device; dtype?: DType }> {
  const { resolveDevice } = await import('../tensor/index.js')
  const shared = resolveDevice(run.device ?? 'auto')
  const device = own.device === undefined ? shared : resolveDevice(own.device)
  return { device, ...defined({ dtype: own.dtype ?? (device === shared ? run.dtype : undefined) }) }
}

async function functionIn(file: string, options: LoadRewardsOptions): Promise<RewardSource> {
  const loaded = await openRewardFile(file, fileOptionsOf(options))
  const { sources } = loaded.options
  if (loaded.form === 'source') return sources[0]!
  for (const source of sources) await source.close?.()
  throw new RewardConfigError(`${file}: expected a reward as its default export, not a list of sources`)
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Without the options a file leaves out: who takes them has defaults of its own. */
function defined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>
}
