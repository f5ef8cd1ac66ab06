/** Rewards in a module: TypeScript or JavaScript, as it is. Runs in the process of the file. */
import { access, readFile } from 'node:fs/promises'
import { importModule, type ModuleExports } from '../files/index.js'
import { requiredColumns } from './define-reward.js'
import type { RewardComputationEngine } from './engine.js'
import type { RewardEngineOptions } from './engine-options.js'
import { RewardConfigError } from './errors.js'
import { type SampleReward, sampleReward } from './function-source.js'
import type { FileDescription, SourceDescription } from './process/messages.js'
import type { RewardSource } from './source.js'

/** Contents of a module: its sources in order, an aggregator last, and their properties. */
export interface LoadedFile {
  readonly description: FileDescription
  readonly sources: readonly RewardSource<never>[]
  readonly events: Readonly<Record<string, (event: unknown) => void>>
}

/** Exports that are options of the engine under their own names. */
const optionNames = [
  'sources',
  'rewardModel',
  'remoteRmUrl',
  'customRewardFunc',
  'rewardFn',
  'rewardFnLabelMap',
  'rewardRecipe',
  'weights',
] as const

const forms = `a default export that is a function of one sample, a source such as defineReward(...), a RewardComputationEngine or its options; or exports named ${optionNames.join(', ')}`

export async function loadFile(
  file: string,
  { tokenizer }: { tokenizer?: string | undefined } = {},
): Promise<LoadedFile> {
  await access(file).catch(cause => {
    throw new RewardConfigError('there is no such file', { cause })
  })
  const exports = await importModule(file, await ownModules(file))
  const { default: main } = exports
  if (main !== undefined) return recognise(main, tokenizer)
  const options = Object.fromEntries(
    optionNames.flatMap(name => (exports[name] === undefined ? [] : [[name, exports[name]]])),
  )
  if (Object.keys(options).length > 0) return resolved(options, tokenizer)
  throw new RewardConfigError(`it exports no reward: expected ${forms}`)
}

/** Loading them takes longer than most rewards: skip it for a file without such imports. */
async function ownModules(file: string): Promise<Record<string, ModuleExports> | undefined> {
  if (!/whetstone|zod|['"`]\.{0,2}\//.test(await readFile(file, 'utf8'))) return undefined
  const [reward, data, text, zod] = await Promise.all([
    import('./library.js'),
    import('../data/index.js'),
    import('../text/index.js'),
    import('zod'),
  ])
  const whetstone = { ...text, ...data, ...reward }
  return { whetstone, 'whetstone/reward': reward, 'whetstone/data': data, 'whetstone/text': text, zod }
}

function recognise(value: unknown, tokenizer: string | undefined): LoadedFile | Promise<LoadedFile> {
  if (typeof value === 'function') {
    const fn = value as SampleReward
    return single(sampleReward(fn, { name: /^_?default$|^$/.test(fn.name) ? 'reward' : fn.name }))
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if ('score' in value && 'limits' in value) return single(value as RewardSource)
    // An engine: what it was made of.
    const options = 'compute' in value ? (value as RewardComputationEngine).options : (value as RewardEngineOptions)
    return resolved(options, tokenizer)
  }
  throw new RewardConfigError(`its default export is not a reward: expected ${forms}`)
}

function single(source: RewardSource): LoadedFile {
  const description = { form: 'source', sources: [describe(source)], aggregates: false, events: [] } as const
  return { description, sources: [source], events: {} }
}

async function resolved(given: RewardEngineOptions, tokenizer: string | undefined): Promise<LoadedFile> {
  const [{ resolveRewards }, { aggregatorSource }] = await Promise.all([
    import('./engine-options.js'),
    import('./aggregator.js'),
  ])
  const options =
    given.rewardModel === undefined || given.tokenizer !== undefined || tokenizer === undefined
      ? given
      : { ...given, tokenizer: await (await import('../text/index.js')).Tokenizer.load(tokenizer) }
  const { sources, combination } = resolveRewards(options)
  const { weights, rewardRecipe, onRewardFailure, failureRetries, patienceMinutes, blockedMs } = options
  const plain = {
    weights,
    rewardRecipe: rewardRecipe ?? undefined,
    onRewardFailure,
    failureRetries,
    patienceMinutes,
    blockedMs,
  }
  const { onLate, onBlocked, onAway } = options
  const events = defined({ onLate, onBlocked, onAway }) as LoadedFile['events']
  const all: RewardSource<never>[] = [...sources]
  if (combination.kind === 'aggregator') all.push(aggregatorSource(combination.rewardFn, combination.labelMap))
  return {
    description: {
      form: 'several',
      sources: sources.map(describe),
      aggregates: combination.kind === 'aggregator',
      events: Object.keys(events),
      ...defined(plain),
    },
    sources: all,
    events,
  }
}

function describe(source: RewardSource): SourceDescription {
  const { name, kind, limits, model, needsTarget = false } = source
  const columns = requiredColumns(source)
  return { name, kind, limits: { ...limits }, needsTarget, columns, asksModel: model !== undefined }
}

function defined<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
