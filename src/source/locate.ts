/** From the name of a model or of a data set to its directory, fetched from the Hub or made of a GGUF file where it has to be. */
import { basename } from 'node:path'
import { chooseSplit, planFolder } from '../data/index.js'
import { cachedImport, isGgufPath } from '../gguf/index.js'
import { type ChooseFiles, type RepoType, snapshot, type Wanted } from '../hub/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { hubName, isHubName, type NameKind, parseHubName, placedName } from './names.js'

export interface LocateOptions {
  readonly signal?: AbortSignal | undefined
  /** Shown what is fetched, and how far it has come. Default: nothing is shown. */
  readonly report?: Report | undefined
  /** Relative paths are looked for here. Default: the current directory. */
  readonly directory?: string
  /** Commits to use in place of what a branch names now, by name (`hf:org/name`). */
  readonly commits?: Readonly<Record<string, string>> | undefined
}

/** Where something came from, for the record of a run. */
export type Origin =
  | { readonly kind: 'path' }
  /** A GGUF file: its name and its checksum. */
  | { readonly kind: 'gguf'; readonly name: string; readonly sha256: string }
  /** `directory` is that of the commit in the cache. */
  | {
      readonly kind: 'hub'
      readonly name: string
      readonly id: string
      readonly commit: string
      readonly directory: string
    }

export interface LocatedModel {
  /** A Hugging Face model directory, as if it had been given. */
  readonly directory: string
  readonly origin: Origin
}

export interface LocatedData {
  /** A file, a pattern or a folder; a folder may end in `:config/split`. */
  readonly path: string
  readonly origin: Origin
}

/**
 * The directory of a model, an adapter or a tokenizer.
 *
 * @example
 * const { directory } = await locateModel('Qwen/Qwen2.5-0.5B-Instruct')
 * const model = await LocalModel.load(directory, { role: 'language' })
 */
export async function locateModel(
  name: string,
  options: LocateOptions & { readonly wanted?: 'model' | 'tokenizer' } = {},
): Promise<LocatedModel> {
  const placed = placedName(name, 'model', options.directory ?? process.cwd())
  if (isGgufPath(placed)) return imported(placed, options)
  if (!isHubName(placed)) return { directory: placed, origin: { kind: 'path' } }
  const { directory, origin } = await fetched(placed, 'model', { wanted: 'model', ...options })
  return { directory, origin }
}

/**
 * The files of a data set; of one with a config or a split in its name, those of the split alone.
 *
 * @example
 * const { path } = await locateData('openai/gsm8k:main/train')
 */
export async function locateData(name: string, options: LocateOptions = {}): Promise<LocatedData> {
  const placed = placedName(name, 'data', options.directory ?? process.cwd())
  if (!isHubName(placed)) return { path: placed, origin: { kind: 'path' } }
  const { id, part } = parseHubName(placed, 'data')!
  if (part === undefined) {
    const { directory, origin } = await fetched(placed, 'data', { ...options, wanted: 'data' })
    return { path: directory, origin }
  }
  let meant = part
  const choose: ChooseFiles = async ({ names, read }) => {
    const { config, split, files } = chooseSplit(await planFolder({ shown: id, names, read }), { name: part }, id)
    meant = `${config}/${split}`
    // `save_to_disk` names every file of every split, and each has to be there.
    return names.some(name => basename(name) === 'state.json') ? 'all' : files
  }
  const { directory, origin } = await fetched(placed, 'data', { ...options, wanted: 'data', choose })
  return { path: `${directory}:${meant}`, origin }
}

async function imported(path: string, { report = silentReport, signal }: LocateOptions): Promise<LocatedModel> {
  const shown = report.transfer('importing')
  const onImport = (): void => report.line(`Importing ${path} into the cache.`)
  const onProgress = ({ bytesDone, bytesTotal }: { bytesDone: number; bytesTotal: number }): void =>
    shown.at(bytesDone, bytesTotal)
  const { directory, sha256 } = await cachedImport(path, { signal, onImport, onProgress }).finally(() => shown.end())
  return { directory, origin: { kind: 'gguf', name: basename(path), sha256 } }
}

async function fetched(
  placed: string,
  kind: NameKind,
  options: LocateOptions & { readonly wanted: Wanted; readonly choose?: ChooseFiles },
) {
  const { report = silentReport, signal = new AbortController().signal, commits = {}, wanted, choose } = options
  const { id, revision } = parseHubName(placed, kind)!
  const type: RepoType = kind === 'data' ? 'dataset' : 'model'
  const name = hubName({ id, ...(revision === undefined ? {} : { revision }) })
  const at = commits[name] ?? revision
  const { directory, commit } = await snapshot({ type, id }, { wanted, choose, revision: at, report, signal })
  return { directory, origin: { kind: 'hub', name, id, commit, directory } as const }
}
