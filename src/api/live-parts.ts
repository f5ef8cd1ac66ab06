/**
 * What a program gives in place of files. Rows, models and the text of rewards are written into the run directory before anything
 * else: the run is then checked, recorded, resumed and replayed as one from files.
 */
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { dataSchema } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { fileSha256, makeDirectory } from '../files/index.js'
import { isDefinition } from '../maths/index.js'
import {
  copyTokenizer,
  type ExportOptions,
  LocalModel,
  MultimodalProcessor,
  modelFiles,
  type TokenModel,
} from '../model/index.js'
import type { Generator } from '../rollout/index.js'
import { Tokenizer } from '../text/index.js'
import { defineGenerator, type GeneratorDefinition, type LiveParts, type RawConfig } from '../train/index.js'
import { environmentPart, environmentText } from './environment-part.js'
import { rewardParts } from './reward-parts.js'
import { type Rows, spoolRows } from './spool-rows.js'

interface GivenParts {
  /** The options, with a path wherever something is written. */
  readonly values: RawConfig
  readonly live: LiveParts
  /** Writes it all. */
  place(how: Placing): Promise<void>
}

interface Placing {
  /** `compare`: a run is resumed, and has to go on with what it was started with. */
  readonly existing: 'replace' | 'compare'
  readonly allowChange: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Something that is written: a file or a directory of the run. */
interface Part {
  readonly option: string
  readonly path: string
  /** What `allowChange` calls it. */
  readonly allow: string
  write(path: string, signal: AbortSignal | undefined): Promise<void>
}

/** Takes the options of a verb apart. Nothing is written yet: what is wrong with the others is found first. */
export function givenParts(options: Readonly<Record<string, unknown>>, directory: string): GivenParts {
  const values = structured(options)
  const parts: Part[] = []
  const { tokenizer, processor } = values
  delete values.tokenizer
  delete values.processor
  if (tokenizer !== undefined && !(tokenizer instanceof Tokenizer))
    throw new InputError('tokenizer: expected a Tokenizer, such as `await Tokenizer.load(DIR)` gives')
  if (processor !== undefined && !(processor instanceof MultimodalProcessor))
    throw new InputError(
      'processor: expected a MultimodalProcessor, such as `await MultimodalProcessor.load(DIR, ...)` gives',
    )

  const add = (section: Values, key: string, part: Omit<Part, 'path'> & { name: string }): void => {
    const path = join(directory, part.name)
    parts.push({ ...part, path })
    section[key] = path
  }
  parts.push(...rowParts(values, ['data', 'validationData', 'ptx.data'], directory))

  const models: Record<string, TokenModel> = {}
  for (const { section, key, option } of placesOf(values, ['model', 'reference', 'critic', 'critic.model'])) {
    const model = section[key]
    if (!isModel(model)) {
      if (typeof model === 'object' && option !== 'critic')
        throw new InputError(`${option}: expected a model directory, or a model of the program such as a LocalModel`)
      continue
    }
    models[option] = model
    const adapted = option === 'model' && model.capabilities.exports.includes('adapter')
    const write = (what: ExportOptions['what']) => async (path: string) => {
      await model.export(path, { what })
      if (tokenizer && what !== 'adapter') await copyTokenizer(tokenizer.dir, path)
    }
    if (option === 'model') refuseLoadOptions(values, model)
    if (option === 'model' || option === 'critic.model') refuseOptimizerOptions(section)
    add(section, key, { option, allow: option, name: `models/${option}`, write: write(adapted ? 'base' : 'model') })
    if (adapted) add(values, 'adapter', { option, allow: option, name: 'models/adapter', write: write('adapter') })
    if (model instanceof LocalModel) values.device ??= model.device
  }

  const rewards = isNames(values.rewards) ? undefined : rewardParts(values.rewards)
  if (rewards) {
    const write = (path: string): Promise<void> => writeFile(path, rewards.text)
    add(values, 'rewards', { option: 'rewards', allow: 'rewards', name: 'data/rewards.txt', write })
  }
  const environment = environmentPart(values)
  if (environment) {
    const write = (path: string): Promise<void> => writeFile(path, environmentText(environment))
    add(values, 'environment', { option: 'environment', allow: 'environment', name: 'data/environment.txt', write })
  }
  const generator = isGenerator(values.generator) ? values.generator : undefined
  if (!generator && !isDefinition(values.generator) && hasFunctions(values.generator))
    throw new InputError('generator: expected options, a definition, or a Generator with the function generate')
  // Not the engine of this process: the options are checked against what this one can do.
  if (generator) values.generator = { type: liveGenerator(generator) }
  else if (isDefinition(values.generator)) values.generator = { type: values.generator }

  const { model, reference, critic = models['critic.model'] } = models
  const given = { rewards: rewards?.options, rewardNames: rewards?.names }
  const live = { model, reference, critic, tokenizer, processor, generator, environment, ...given } as LiveParts
  const place = async (how: Placing): Promise<void> => {
    for (const part of parts) await placePart(part, how, directory)
  }
  return { values, live, place }
}

/** Rows of these options as files: the options name the files from then on. */
function rowParts(values: Values, options: readonly string[], directory: string): Part[] {
  return placesOf(values, options).flatMap(({ section, key, option }) => {
    const rows = section[key]
    if (typeof rows !== 'string' && typeof rows !== 'object')
      throw new InputError(`${option}: expected files, or rows (an iterable of objects), got a ${typeof rows}`)
    if (!isRows(rows)) return []
    const path = join(directory, 'data', `${option}.jsonl`)
    section[key] = path
    return [{ option, path, allow: 'dataset', write: (to, signal) => spoolRows(rows, to, { option, signal }) }]
  })
}

/** Options with files in place of rows, and what writes those files. */
export function givenRows(options: Readonly<Record<string, unknown>>, names: readonly string[], directory: string) {
  const values: Values = { ...options }
  const parts = rowParts(values, names, directory)
  const place = async (signal: AbortSignal | undefined): Promise<void> => {
    for (const part of parts) await placePart(part, { existing: 'replace', allowChange: [], signal }, directory)
  }
  return { values, place }
}

type Values = Record<string, unknown>

/** A copy whose sections `critic` and `ptx` can be changed too. */
function structured(options: Readonly<Record<string, unknown>>): Values {
  const values: Values = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  for (const name of ['critic', 'ptx'])
    if (typeof values[name] === 'object' && !isModel(values[name])) values[name] = { ...values[name] }
  return values
}

/** Where the options are, of those that are given. */
function placesOf(values: Values, options: readonly string[]): { section: Values; key: string; option: string }[] {
  return options.flatMap(option => {
    const [first, second] = option.split('.') as [string, string?]
    const section = second === undefined ? values : (values[first] as Values | undefined)
    const key = second ?? first
    return section?.[key] === undefined ? [] : [{ section, key, option }]
  })
}

/** What a config may have. */
const isNames = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.every(one => typeof one === 'string'))

function isRows(value: unknown): value is Rows {
  if (typeof value !== 'object' || value === null) return false
  if (!(Symbol.iterator in value) && !(Symbol.asyncIterator in value)) return false
  // A list of paths and sources is what a config file has.
  return !dataSchema.safeParse(value).success
}

const isModel = (value: unknown): value is TokenModel =>
  typeof value === 'object' && value !== null && 'forwardBackward' in value && 'export' in value

const isGenerator = (value: unknown): value is Generator =>
  typeof value === 'object' && value !== null && 'generate' in value && typeof value.generate === 'function'

const hasFunctions = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).some(one => typeof one === 'function')

/** A generator of the program, as a config holds one. */
const liveGenerator = (generator: Generator): GeneratorDefinition =>
  defineGenerator({
    name: 'live',
    description: 'a generator of the program',
    options: z.object({}),
    open: () => generator,
  })

/** What is decided when a model is loaded. */
function refuseLoadOptions(values: Values, model: TokenModel): void {
  for (const option of ['lora', 'adapter', 'freezeBackbone', 'residualDtype', 'gradientCheckpointing'])
    if (values[option] !== undefined && values[option] !== false) throw loadedWith(option)
  const { dtype } = values
  if (dtype !== undefined && model instanceof LocalModel && dtype !== model.dtype) throw loadedWith('dtype')
}

/** The state of the optimiser is a part of the model. */
function refuseOptimizerOptions({ optimizer }: Values): void {
  if (typeof optimizer !== 'object' || optimizer === null) return
  for (const option of ['betas', 'eps', 'weightDecay', 'masters'])
    if ((optimizer as Values)[option] !== undefined) throw loadedWith(`optimizer.${option}`)
}

const loadedWith = (option: string): InputError =>
  new InputError(`${option}: only for a model that the run loads; load the model with it, or give its directory`)

/** A run that goes on keeps what it was started with, and what is given now has to be the same. */
async function placePart({ option, path, allow, write }: Part, how: Placing, run: string): Promise<void> {
  const next = join(dirname(path), `.${option}.next`)
  await makeDirectory(dirname(path))
  try {
    await write(next, how.signal)
    const isThere = how.existing === 'compare' && existsSync(path)
    if (isThere && (await sameFiles(path, next))) return
    if (isThere && !how.allowChange.includes(allow))
      throw new InputError(`${option}: has changed since the run in ${run} started`, {
        remedy: `Give the same one as at the start (load a model again if it was trained since), start a new run, or accept the change: allowChange: ['${allow}'].`,
      })
    await rm(path, { recursive: true, force: true })
    await rename(next, path)
  } finally {
    await rm(next, { recursive: true, force: true })
  }
}

async function sameFiles(one: string, other: string): Promise<boolean> {
  const names = await modelFiles(one)
  if (names.join() !== (await modelFiles(other)).join()) return false
  for (const name of names.length === 0 ? [''] : names)
    if ((await fileSha256(join(one, name))) !== (await fileSha256(join(other, name)))) return false
  return true
}
