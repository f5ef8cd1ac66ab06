/**
 * Definitions of a user in a config: a path in the place of a name is the file whose default export it is. Files are loaded before
 * the config is checked; they are inputs of the run.
 */
import { dirname, relative, resolve, sep } from 'node:path'
import { InputError, WhetstoneError } from '../../errors/index.js'
import { fileSha256, moduleFiles } from '../../files/index.js'
import {
  checkEstimator,
  checkLoss,
  type Definition,
  isDefinition,
  isDefinitionPath,
  isEstimator,
  isLoss,
  type LossDefinition,
  ownOptions,
} from '../../maths/index.js'
import { isLoggerDefinition, RunError, type RunInputs } from '../../run/index.js'
import { isAlgorithm } from '../rl/algorithms.js'
import { defaultExport, kindOf } from './load-module.js'
import { loadLoggers } from './loggers.js'
import { at, type ConfigLayer, type RawConfig, withValue } from './resolve.js'

/** Options that take the name of one of ours, or a definition. */
const options = ['algorithm', 'loss', 'advantageEstimator', 'generator.type'] as const

/**
 * A definition from a file: the default export of a TypeScript or JavaScript module. A module runs with all that this process may
 * do, so only your own should be given.
 *
 * @example
 * const loss = await loadDefinition('my-loss.ts')
 */
export async function loadDefinition(file: string): Promise<Definition> {
  const path = resolve(file)
  const main = await defaultExport(path)
  if (!isDefinition(main))
    throw new InputError(
      `${path}: expected a default export of defineLoss, defineEstimator, defineAlgorithm or defineGenerator, got ${kindOf(main)}`,
    )
  const set = isAlgorithm(main) ? { set: await withDefinitions(main.set, dirname(path)) } : {}
  return Object.assign(Object.create(Object.getPrototypeOf(main) as object) as Definition, main, set, { file: path })
}

/** Options with their definitions in place of paths, which are relative to a directory. */
async function withDefinitions(
  values: RawConfig,
  directory: string,
  paths: readonly string[] = options,
): Promise<RawConfig> {
  let loaded = values
  for (const option of paths) {
    const path = at(values, option)
    if (!isDefinitionPath(path)) continue
    const definition = await loadDefinition(resolve(directory, path)).catch((error: unknown) => {
      if (!(error instanceof WhetstoneError)) throw error
      throw new InputError(`${option}: ${error.message}`, { cause: error })
    })
    loaded = withValue(loaded, option, definition)
  }
  return 'loggers' in loaded ? { ...loaded, loggers: await loadLoggers(loaded.loggers, directory) } : loaded
}

/**
 * The layers of a config with every definition loaded that one of them names by its file. `sections`: where the options of trainings
 * are, if not at the top.
 */
export async function loadDefinitions(
  layers: readonly ConfigLayer[],
  sections?: readonly string[],
): Promise<ConfigLayer[]> {
  const paths = sections?.flatMap(section => options.map(option => `${section}.${option}`))
  const loaded: ConfigLayer[] = []
  for (const layer of layers) {
    const { values, directory = process.cwd(), origin } = layer
    const found = withDefinitions(values, directory, paths).catch((error: unknown) => {
      if (!(error instanceof InputError)) throw error
      throw new InputError(`${origin}: ${error.message}`, { cause: error })
    })
    loaded.push({ ...layer, values: await found })
  }
  return loaded
}

/** The definitions of a user that a config holds, by option; a preset's are among them. */
function definitionsOf(config: object): Record<string, Definition> {
  const found = options.map(option => [option, at(config, option)] as const)
  return Object.fromEntries(found.filter((one): one is [(typeof options)[number], Definition] => isDefinition(one[1])))
}

/** Tries the losses and estimators of a user on random batches, with the options that they will have. */
export function checkDefinitions(config: object): void {
  const { lossOptions, estimatorOptions } = config as Readonly<Record<string, RawConfig | undefined>>
  for (const [option, definition] of Object.entries(definitionsOf(config)))
    try {
      if (isEstimator(definition)) checkEstimator(definition, ownOptions(definition, config, estimatorOptions))
      else if (isAnyLoss(definition)) checkLoss(definition, ownOptions(definition, config, lossOptions))
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      throw new InputError(`${option}: ${error.message}`, { cause: error })
    }
}

function isAnyLoss(value: unknown): value is LossDefinition {
  return (['policy', 'preference', 'labelled', 'reward-model'] as const).some(kind => isLoss(kind)(value))
}

/** The files of the definitions, by option: the file itself and what it imports by a path. */
export async function definitionInputs(config: object): Promise<Record<string, { name: string; path: string }[]>> {
  const inputs: Record<string, { name: string; path: string }[]> = {}
  const { loggers = [] } = config as { loggers?: readonly unknown[] }
  const files = [
    ...Object.entries(definitionsOf(config)).map(([option, { file }]) => ({ option, file })),
    ...loggers.filter(isLoggerDefinition).map(({ file }) => ({ option: 'loggers', file })),
  ]
  for (const { option, file } of files) {
    if (file === undefined) continue
    const name = (path: string): string => relative(dirname(file), path).split(sep).join('/')
    const found = (await moduleFiles([file])).map(path => ({ name: name(path), path }))
    inputs[option] = [...(inputs[option] ?? []), ...found]
  }
  return inputs
}

/** The config of a run with its definitions. */
interface RestoredConfig {
  readonly config: RawConfig
  /** Files of needed definitions whose version of that time is not there any more. */
  readonly otherVersions: readonly string[]
}

/**
 * The config of a run as it was recorded, with its definitions loaded again. A file that is not what it was is refused, unless a
 * resume of the run changed it; a definition that was given in code has to be given again.
 */
export async function restoredConfig(
  config: RawConfig,
  context: {
    readonly inputs?: RunInputs | undefined
    /** What resumes changed: keys of the config, and files such as `loss my-loss.ts`. */
    readonly changed?: readonly string[]
    readonly given?: readonly Definition[]
    /** Options without whose definitions nothing can be derived again; others of them become their defaults. */
    readonly needed: readonly (typeof options)[number][]
  },
): Promise<RestoredConfig> {
  const { inputs = {}, changed = [], given = [], needed } = context
  const otherVersions: string[] = []
  // What was logged where changes no batch.
  let restored: RawConfig = { ...config, loggers: [] }
  for (const option of options) {
    const recorded = at(config, option)
    if (isDefinitionPath(recorded)) {
      const loaded = await loadDefinition(recorded)
      for (const { name, path } of (await definitionInputs(withValue({}, option, loaded)))[option] ?? [])
        if (inputs[option]?.[name] !== undefined && inputs[option][name] !== (await fileSha256(path))) {
          if (!changed.includes(`${option} ${name}`))
            throw new RunError(`${option}: ${path} has changed since the run started`, {
              remedy: 'Restore the file as it was.',
            })
          if (needed.includes(option)) otherVersions.push(path)
        }
      restored = withValue(restored, option, loaded)
    } else if (typeof recorded === 'object' && recorded !== null) {
      const same = given.find(one => JSON.stringify(one) === JSON.stringify(recorded))
      if (!same && needed.includes(option))
        throw new RunError(`${option}: ${(recorded as { name: string }).name} was given in code`, {
          remedy: 'Replay the run from the program that has it: replay(directory, { definitions }) of whetstone.',
        })
      restored = withValue(restored, option, same)
    }
  }
  return { config: restored, otherVersions }
}
