/** Rewards described in a file: sources by name, and how they become one. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { schemaProblems } from '../errors/index.js'
import { readConfigFile } from '../files/index.js'
import { locateModel } from '../source/index.js'
import type { Device, DType } from '../tensor/index.js'
import { type RewardEngineOptions, resolveRewards } from './engine-options.js'
import { RewardConfigError } from './errors.js'
import type { LoadRewardsOptions } from './load.js'
import { modelReward } from './model-source.js'
import { fileOptionsOf, openRewardFile } from './process/reward-file.js'
import { recipeSchema, weightsSchema } from './recipe.js'
import { dialectNames } from './remote/dialects.js'
import { remoteReward } from './remote/remote-source.js'
import { exactMatch, format, jsonSchema, length, numericAnswer, pattern, wordList } from './rules/index.js'
import { answerPlaces } from './rules/numeric-answer.js'
import type { RewardSource } from './source.js'

const limits = {
  batchSize: z.int().min(1).optional(),
  concurrency: z.int().min(1).optional(),
  deadlineMs: z.int().min(1).optional(),
  timeoutMs: z.int().min(1).optional(),
  retries: z.int().min(0).optional(),
}

const text = z.string().min(1)
const rule = <const R extends string, S extends z.ZodRawShape>(name: R, shape: S) =>
  z.strictObject({ type: z.literal('rule'), rule: z.literal(name), ...shape })
const rules = {
  'exact-match': rule('exact-match', {
    answer: z.enum(['whole', 'answer-tag', 'boxed']).optional(),
    letterCase: z.enum(['sensitive', 'insensitive']).optional(),
  }),
  'numeric-answer': rule('numeric-answer', { answer: z.array(z.enum(answerPlaces)).min(1).optional() }),
  format: rule('format', {
    tags: z.array(text).optional(),
    ending: z.enum(['boxed', 'nothing']).optional(),
    outside: z.enum(['allowed', 'forbidden']).optional(),
    openedByPrompt: text.optional(),
    on: z.enum(['response', 'raw']).optional(),
  }),
  length: rule('length', {
    unit: z.enum(['tokens', 'characters', 'words']).optional(),
    min: z.number().min(0).optional(),
    max: z.number().min(0).optional(),
    falloff: z.number().min(0).optional(),
  }),
  pattern: rule('pattern', {
    pattern: text,
    flags: z.string().optional(),
    match: z.enum(['part', 'whole']).optional(),
    on: z.enum(['response', 'raw']).optional(),
  }),
  'json-schema': rule('json-schema', { schema: z.record(z.string(), z.unknown()) }),
  'word-list': rule('word-list', {
    words: z.array(text).min(1),
    penalty: z.number().optional(),
    clean: z.number().optional(),
  }),
}
const ruleSchema = z.discriminatedUnion('rule', [
  rules['exact-match'],
  rules['numeric-answer'],
  rules.format,
  rules.length,
  rules.pattern,
  rules['json-schema'],
  rules['word-list'],
])

const remoteShape = {
  type: z.literal('remote'),
  url: z.union([text, z.array(text).min(1)]),
  dialect: z.enum(dialectNames).optional(),
  model: text.optional(),
  send: z.enum(['text', 'ids', 'messages']).optional(),
  labelTokenIds: z.array(z.int().min(0)).min(1).optional(),
  /** Name of the environment variable that holds the key: a file is no place for it. */
  apiKeyEnv: text.optional(),
  headers: z.record(z.string(), z.string()).optional(),
  modelVersion: text.optional(),
  contents: z.enum(['raw', 'typed']).optional(),
  /** A PEM file, relative to this one. */
  caFile: text.optional(),
  ...limits,
}
const modelShape = {
  type: z.literal('model'),
  /** A Hugging Face directory of a reward model, relative to this file. */
  path: text,
  /** Default: the device of the run. */
  device: z
    .string()
    .regex(/^(auto|cpu|cuda(:\d{1,3})?)$/, 'expected auto, cpu, cuda or cuda:N')
    .optional(),
  /** Default: the run's on its device, else float32 on the CPU and bfloat16 on a GPU. */
  dtype: z.enum(['float32', 'bfloat16', 'float16']).optional(),
  batchTokens: z.int().min(1).optional(),
}
const functionShape = {
  type: z.literal('function'),
  /** A module, relative to this file. */
  file: text,
}

const sourceSchema = z.discriminatedUnion('type', [
  ruleSchema,
  z.strictObject(remoteShape),
  z.strictObject(modelShape),
  z.strictObject(functionShape),
])

const specShape = {
  sources: z.record(z.string(), sourceSchema).optional(),
  weights: weightsSchema.optional(),
  rewardRecipe: recipeSchema.optional(),
  onRewardFailure: z.enum(['drop', 'stop', 'retry']).optional(),
  failureRetries: z.int().min(0).optional(),
  patienceMinutes: z.number().min(0).optional(),
}
const specSchema = z.strictObject(specShape)
const knownKeys = [
  ...[specShape, remoteShape, modelShape, functionShape].flatMap(shape => Object.keys(shape)),
  ...Object.values(rules).flatMap(({ shape }) => Object.keys(shape)),
]

type SourceSpec = z.output<typeof sourceSchema>

/** Engine options from a YAML or JSON file; nothing is opened or loaded before all of it is checked. */
export async function readSpec(file: string, options: LoadRewardsOptions = {}): Promise<RewardEngineOptions> {
  const value = await readConfigFile(file).catch(cause => {
    throw new RewardConfigError((cause as Error).message, { cause })
  })
  const result = specSchema.safeParse(value)
  if (!result.success) {
    const messages = schemaProblems(result.error, { known: knownKeys })
    throw new RewardConfigError(`${file}: ${messages.join(`\n${file}: `)}`)
  }
  const { sources = {}, ...rest } = result.data
  const made: RewardSource[] = []
  try {
    for (const [name, spec] of Object.entries(sources))
      made.push(await makeSource(name, spec, dirname(resolve(file)), options))
    resolveRewards({ ...(rest as Omit<RewardEngineOptions, 'sources'>), sources: made })
  } catch (error) {
    for (const source of made) await source.close?.()
    throw error
  }
  return { ...(rest as Omit<RewardEngineOptions, 'sources'>), sources: made }
}

async function makeSource(
  name: string,
  spec: SourceSpec,
  folder: string,
  options: LoadRewardsOptions,
): Promise<RewardSource> {
  switch (spec.type) {
    case 'rule':
      return makeRule(name, spec)
    case 'remote':
      return makeRemote(name, spec, folder)
    case 'model':
      return makeModel(name, spec, folder, options)
    case 'function':
      return { ...(await functionIn(resolve(folder, spec.file), options)), name }
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

async function makeRemote(name: string, spec: SourceSpec & { type: 'remote' }, folder: string): Promise<RewardSource> {
  const { type: _, apiKeyEnv, caFile, ...given } = spec
  const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]
  if (apiKeyEnv !== undefined && !apiKey)
    throw new RewardConfigError(`reward "${name}": the environment variable ${apiKeyEnv} (apiKeyEnv) is not set`)
  const tls = caFile === undefined ? undefined : { ca: await readFile(resolve(folder, caFile)) }
  return remoteReward(defined({ ...given, name, apiKey, tls }))
}

async function makeModel(
  name: string,
  spec: SourceSpec & { type: 'model' },
  folder: string,
  run: LoadRewardsOptions,
): Promise<RewardSource> {
  // Loaded here alone: rewards without a model need no libtorch.
  const [{ LocalModel, readConfig }, { cudaDevice }, { Tokenizer }] = await Promise.all([
    import('../model/index.js'),
    import('../tensor/index.js'),
    import('../text/index.js'),
  ])
  const { commits, signal } = run
  const { directory } = await locateModel(spec.path, { directory: folder, commits, signal })
  const { head } = await readConfig(directory)
  // Loaded as a reward model it would get a random head, and its scores would mean nothing.
  if (head !== 'score')
    throw new RewardConfigError(
      `reward "${name}": ${directory} is a language model; expected a reward model (with a score head)`,
    )
  const tokenizer = await Tokenizer.load(directory)
  const place = await rewardModelPlace(spec, run)
  if (place.device !== 'cpu' && !cudaDevice(place.device))
    throw new RewardConfigError(
      `reward "${name}": device: there is no ${place.device}; \`whetstone doctor\` lists the devices`,
    )
  const model = await LocalModel.load(directory, { role: 'reward', ...place })
  const source = modelReward({
    name,
    model,
    tokenizer,
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
