/** Where the options of a command come from: a config file, `--set` and flags, the later ones over the earlier ones. */
import type { z } from 'zod'
import { readConfigFile } from '../files/index.js'
import { type ConfigLayer, configOptions, fileLayer, settingsLayer } from '../train/index.js'
import { optionFlag } from './config-flags.js'
import { UsageError } from './flags.js'

/** `--set` as a layer over the config file; a value that cannot be parsed is a usage error. */
export function setLayer(settings: readonly string[]): ConfigLayer {
  try {
    return settingsLayer(settings)
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

interface Given {
  /** A config file. */
  readonly config?: string | undefined
  /** `--set`. */
  readonly set?: readonly string[] | undefined
  /** Options that were given as flags. */
  readonly layer: ConfigLayer
}

export async function configLayers({ config, set = [], layer }: Given): Promise<ConfigLayer[]> {
  const file = config === undefined ? [] : [fileLayer(config, await readConfigFile(config))]
  return [...file, setLayer(set), layer]
}

/** Without a config file, the options that have to be given have to be flags: one error names those that are missing. */
export function requireOptions(of: Required, layers: readonly ConfigLayer[], config: string | undefined): void {
  if (config !== undefined) return
  const given = (name: string): boolean => layers.some(({ values }) => values[name] !== undefined)
  const missing = requiredOptions(of).filter(({ name }) => ![name, ...(of.unless[name] ?? [])].some(given))
  if (missing.length === 0) return
  const lines = missing.map(({ name, description }) => `${optionFlag(name)}: missing; ${description}`)
  throw new UsageError([...lines, 'Give these flags, or a config file with --config FILE.'].join('\n'))
}

export interface Required {
  readonly schema: z.ZodObject
  /** Options that have to be given unless one of those beside them is. */
  readonly unless: Readonly<Record<string, readonly string[]>>
}

/** Those of the config itself, not of its sections. */
export function requiredOptions({
  schema,
  unless,
}: Required): readonly { readonly name: string; readonly description: string }[] {
  return configOptions(schema).filter(
    ({ name, required }) => (required && !name.includes('.')) || unless[name] !== undefined,
  )
}
