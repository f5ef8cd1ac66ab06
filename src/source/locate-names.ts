/** All names of a config at once: each is located once, and a run that goes on uses the commits that it began with. */

import { InputError, refuse } from '../errors/index.js'
import { HubError } from '../hub/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { type LocatedData, type LocatedModel, locateData, locateModel } from './locate.js'
import type { NameKind } from './names.js'

/** Commits, and checksums of GGUF files, by what they are recorded under and by name: `{ model: { 'hf:org/name': '0123...' } }`. */
export type Commits = Readonly<Record<string, Readonly<Record<string, string>>>>

interface LocateNamesOptions {
  /** Dotted paths of options that name files and directories. Lists count too: `data.path` is that of each source of a list. */
  readonly options: readonly string[]
  /** Of the run that goes on: a branch that has moved since does not change it. */
  readonly recorded?: Commits | undefined
  /** What may be another commit than the recorded one. */
  readonly allowChange?: readonly string[]
  readonly report?: Report
  readonly signal?: AbortSignal | undefined
}

interface LocatedNames<C> {
  /** With paths in place of names. */
  readonly config: C
  readonly commits: Commits
}

/** Rewards may be a reward model. */
const modelOptions = [
  ...['model', 'adapter', 'reference', 'critic', 'reward', 'rewards'],
  ...['baseModel', 'sftModel', 'rewardModel', 'tokenizerPath'],
]
const dataOptions = ['data', 'validationData', 'sftDataPath', 'rewardDataPath', 'ppoDataPath']

/** What an option names, by its dotted path; undefined where it names neither a model nor data. */
export function nameKind(option: string): NameKind | undefined {
  const last = option
    .replace(/\.path$/, '')
    .split('.')
    .at(-1)!
  if (dataOptions.includes(last)) return 'data'
  return modelOptions.includes(last) && !option.endsWith('.path') ? 'model' : undefined
}

/** Where the commits of an option are recorded. Changes of data have one name for all options. */
const groupOf = (option: string): string => (nameKind(option) === 'data' ? 'dataset' : option)

/**
 * A config with paths in place of names. A config without ids of the Hub comes back as it is.
 *
 * @example
 * const { config, commits } = await locateNames({ model: 'hf:org/name' }, { options: ['model'] })
 */
export async function locateNames<C extends object>(given: C, context: LocateNamesOptions): Promise<LocatedNames<C>> {
  const { options, report = silentReport, signal, recorded = {}, allowChange = [] } = context
  const known = new Map<string, Promise<LocatedModel | LocatedData>>()
  const commits: Record<string, Record<string, string>> = {}

  const locate = async (name: string, option: string): Promise<string> => {
    const kind = nameKind(option)!
    const group = groupOf(option)
    const free = allowChange.includes(group) || allowChange.includes(option)
    const pins = free ? {} : (recorded[group] ?? {})
    const wanted = option.endsWith('tokenizerPath') ? 'tokenizer' : 'model'
    const around = { report, signal, commits: pins }
    const key = `${kind} ${wanted} ${name} ${JSON.stringify(pins)}`
    const finding =
      known.get(key) ?? (kind === 'data' ? locateData(name, around) : locateModel(name, { ...around, wanted }))
    known.set(key, finding)
    const found = await finding.catch(error => refuse(option, withAllowance(error, group, pins)))
    const { origin } = found
    // As it was given: messages show it.
    if (origin.kind === 'path') return name
    if (origin.kind === 'gguf') commits[group] = { ...commits[group], [origin.name]: origin.sha256 }
    if (origin.kind === 'hub') {
      commits[group] = { ...commits[group], [origin.name]: origin.commit }
      if (pins[origin.name] !== undefined && !isPinned(origin.name))
        report.line(`${option}: ${origin.name} at commit ${origin.commit.slice(0, 8)}, as when the run started.`)
    }
    return 'path' in found ? found.path : found.directory
  }
  const visit = async (value: unknown, option: string): Promise<unknown> => {
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const one of value) items.push(await visit(one, option))
      return items
    }
    if (isSection(value)) return visitAll(value, `${option}.`)
    const isName = typeof value === 'string' && options.includes(option) && nameKind(option) !== undefined
    return isName ? locate(value, option) : value
  }
  const visitAll = async (section: object, prefix: string): Promise<Record<string, unknown>> => {
    const made: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(section)) made[key] = await visit(value, `${prefix}${key}`)
    return made
  }
  return { config: (await visitAll(given, '')) as C, commits }
}

/** A name with a commit of its own moves never. */
const isPinned = (name: string): boolean => /@[0-9a-f]{40}$/.test(name)

/** The recorded commit may be gone. */
function withAllowance(error: unknown, group: string, pins: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof HubError) || Object.keys(pins).length === 0) return error
  const remedy = `The run started with this commit. To go on with what the Hub has now: --allow-change ${group}.`
  return new InputError(error.message, {
    cause: error,
    remedy: error.remedy === undefined ? remedy : `${error.remedy} ${remedy}`,
  })
}

/** What is made by a function or a class is a value. */
function isSection(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
