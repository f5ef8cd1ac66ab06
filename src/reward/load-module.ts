/** Rewards in a module: TypeScript or JavaScript, as it is. */
import { access } from 'node:fs/promises'
import { createJiti } from 'jiti'
import { RewardComputationEngine } from './engine.js'
import type { RewardEngineOptions } from './engine-options.js'
import { RewardConfigError } from './errors.js'
import { type SampleReward, sampleReward } from './function-source.js'
import type { RewardSource } from './source.js'

/** What a module holds: one reward, or an engine of several, made or described. */
export type LoadedModule =
  | { readonly kind: 'source'; readonly source: RewardSource }
  | { readonly kind: 'engine'; readonly engine: RewardComputationEngine }
  | { readonly kind: 'options'; readonly options: RewardEngineOptions }

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

export async function loadModule(file: string): Promise<LoadedModule> {
  await access(file).catch(cause => {
    throw new RewardConfigError(`${file}: there is no such file`, { cause })
  })
  let exports: Readonly<Record<string, unknown>>
  try {
    exports = await importModule(file)
  } catch (cause) {
    throw new RewardConfigError(`${file}: ${(cause as Error).message}`, { cause })
  }
  const { default: main } = exports
  if (main !== undefined) return recognise(file, main)
  const options = Object.fromEntries(
    optionNames.flatMap(name => (exports[name] === undefined ? [] : [[name, exports[name]]])),
  )
  if (Object.keys(options).length > 0) return { kind: 'options', options }
  throw new RewardConfigError(`${file}: no reward in it: expected ${forms}`)
}

/** This package is found from wherever the module lies, and it is this very one: its classes are known here. */
async function importModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  const [reward, data, text, zod] = await Promise.all([
    import('./library.js'),
    import('../data/index.js'),
    import('../text/index.js'),
    import('zod'),
  ])
  const jiti = createJiti(import.meta.url, {
    // A compiled copy of somebody's file is nothing to leave behind.
    fsCache: false,
    interopDefault: false,
    virtualModules: { 'whetstone/reward': reward, 'whetstone/data': data, 'whetstone/text': text, zod },
  })
  return jiti.import(file)
}

function recognise(file: string, value: unknown): LoadedModule {
  if (typeof value === 'function') {
    const fn = value as SampleReward
    return { kind: 'source', source: sampleReward(fn, { name: /^_?default$|^$/.test(fn.name) ? 'reward' : fn.name }) }
  }
  if (value instanceof RewardComputationEngine) return { kind: 'engine', engine: value }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if ('score' in value && 'limits' in value) return { kind: 'source', source: value as RewardSource }
    return { kind: 'options', options: value as RewardEngineOptions }
  }
  throw new RewardConfigError(`${file}: its default export is no reward: expected ${forms}`)
}
