/** Identity of a run: the file config.json, and the check that a resume asks for the same run. */
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { systemProblem } from '../errors/index.js'
import { writeFileAtomic } from '../files/index.js'
import { RunError } from './errors.js'
import type { Json } from './exact-json.js'

export type RunCommand = 'sft' | 'reward' | 'rl' | 'preference'

export interface RunIdentity {
  readonly command: RunCommand
  /** Resolved: every option with its value. Seeds are options. */
  readonly config: Json
  /** Where each value came from, by dotted key. */
  readonly origins: Readonly<Record<string, string>>
  /** SHA-256 of each dataset file, by path. */
  readonly fingerprints: Readonly<Record<string, string>>
  /** What else it is made from. */
  readonly inputs?: RunInputs
  /** Such as `whetstone`, `node`, `libtorch`. */
  readonly versions: Readonly<Record<string, string>>
}

/** SHA-256 of files, by the option that names them (`model`, `rewards`) and by their names from there. */
export type RunInputs = Readonly<Record<string, Readonly<Record<string, string>>>>

/** One change that a resume asks for. */
export interface Change {
  /** A dotted key of the config, or `dataset` or an option with the file. */
  readonly key: string
  readonly from: Json | undefined
  readonly to: Json | undefined
  /** The key for `--allow-change`. */
  readonly allow: string
}

/** A change that a resume made. */
interface RecordedChange {
  readonly time: string
  readonly key: string
  /** `null` where there was nothing. */
  readonly from: Json
  readonly to: Json
  /** From which iteration (or file of the journal) on. */
  readonly since?: number
}

/** config.json. */
export interface RunConfig extends RunIdentity {
  readonly schemaVersion: number
  readonly created: string
  /** What resumes have changed since, in order. */
  readonly changes: readonly RecordedChange[]
}

const schemaVersion = 1

export function newConfig(identity: RunIdentity): RunConfig {
  const { command, config, origins, fingerprints, inputs = {}, versions } = identity
  const created = new Date().toISOString()
  return { schemaVersion, command, created, versions, config, origins, fingerprints, inputs, changes: [] }
}

export async function writeConfig(path: string, config: RunConfig): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(config, undefined, 2)}\n`)
}

/** Undefined where there is none. */
export async function readConfig(path: string): Promise<RunConfig | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  if (text === undefined) return undefined
  let config: RunConfig
  try {
    config = JSON.parse(text) as RunConfig
  } catch (cause) {
    throw new RunError(`${path} is damaged: ${(cause as Error).message}`, { cause })
  }
  if (typeof config?.schemaVersion !== 'number' || typeof config.command !== 'string')
    throw new RunError(
      `${path} is not the config of a run${config !== null && typeof config === 'object' && 'model_type' in config ? ', but of a model' : ''}`,
      { remedy: 'Choose another directory for the run.' },
    )
  if (!(config.schemaVersion <= schemaVersion))
    throw new RunError(
      `${path} was written by a newer Whetstone (format ${config.schemaVersion}; this version reads up to format ${schemaVersion})`,
      { remedy: 'Use that version, or start a new run.' },
    )
  return config
}

export interface ChangeOptions {
  /** Keys, with everything below them, that may change freely: output paths, intervals of logging and saving. */
  readonly harmless: readonly string[]
  /**
   * Keys, with everything below them, that the user allows to differ. `dataset` stands for changed data files; an option that
   * names a model or a file also for what is in it.
   */
  readonly allowChange: readonly string[]
}

/** Identity of the resumed run: differences are refused unless they are harmless or allowed. {@link withChanges} records them. */
export function continuedConfig(
  old: RunConfig,
  identity: RunIdentity,
  options: ChangeOptions & { directory: string },
): { config: RunConfig; changes: Change[]; matter: Change[] } {
  const { directory } = options
  if (old.command !== identity.command)
    throw new RunError(`${directory} is a run of \`${old.command}\`, not of \`${identity.command}\``, {
      remedy: 'Choose another directory for this run.',
    })
  const changes = [
    ...configChanges(old.config, identity.config),
    ...datasetChanges(old.fingerprints, identity.fingerprints),
    ...inputChanges(old.inputs, identity.inputs),
  ]
  const matter = changes.filter(change => !isUnder(options.harmless, change))
  const refused = matter.filter(change => !isUnder(options.allowChange, change))
  if (refused.length > 0) throw changedError(directory, refused)
  const { config, origins, fingerprints, inputs = {}, versions } = identity
  return {
    config: { ...old, config, origins, fingerprints, inputs, versions },
    changes,
    matter,
  }
}

/** A config with what a resume changed in it, and from when on. */
export function withChanges(config: RunConfig, changes: readonly Change[], since: number): RunConfig {
  const time = new Date().toISOString()
  const recorded = changes.map(({ key, from = null, to = null }): RecordedChange => ({ time, key, from, to, since }))
  return { ...config, changes: [...config.changes, ...recorded] }
}

/** A key stands for everything below it. */
function isUnder(keys: readonly string[], { allow }: Change): boolean {
  return keys.some(key => allow === key || allow.startsWith(`${key}.`))
}

function changedError(directory: string, refused: readonly Change[]): RunError {
  const lines = refused.map(({ key, from, to }) => `\n  ${key}: was ${shown(from)}, is now ${shown(to)}`)
  const flags = [...new Set(refused.map(({ allow }) => allow))].map(key => `--allow-change ${key}`).join(' ')
  return new RunError(`${directory}: options or inputs of the run have changed:${lines.join('')}`, {
    remedy: `Undo the change, start a new run, or accept the change: resume with ${flags}.`,
  })
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'not there'
  const text = JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}

/** Where two values differ, by dotted key. Lists are compared whole. */
export function configChanges(from: Json | undefined, to: Json | undefined, key = ''): Change[] {
  if (isObject(from) && isObject(to)) {
    const keys = new Set([...Object.keys(from), ...Object.keys(to)])
    return [...keys].flatMap(name => configChanges(from[name], to[name], key === '' ? name : `${key}.${name}`))
  }
  // As JSON has them: an option that is undefined is one that is not there.
  return isDeepStrictEqual(plain(from), plain(to)) ? [] : [{ key, from, to, allow: key }]
}

function datasetChanges(from: Readonly<Record<string, string>>, to: Readonly<Record<string, string>>): Change[] {
  return configChanges({ ...from }, { ...to }).map(change => ({
    ...change,
    key: `dataset ${change.key}`,
    allow: 'dataset',
  }))
}

/** A run that was started before inputs were written down has none to compare. */
function inputChanges(from: RunInputs | undefined, to: RunInputs = {}): Change[] {
  if (from === undefined) return []
  const options = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...options].flatMap(option => {
    const names = new Set([...Object.keys(from[option] ?? {}), ...Object.keys(to[option] ?? {})])
    return [...names].flatMap((name): Change[] => {
      const [was, is] = [from[option]?.[name], to[option]?.[name]]
      return was === is ? [] : [{ key: `${option} ${name}`, from: was, to: is, allow: option }]
    })
  })
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function plain(value: Json | undefined): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
