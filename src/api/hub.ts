/** Models and data sets from the Hub, and to it. */
import { InputError } from '../errors/index.js'
import { type Pushed, pushDirectory } from '../hub/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { hubName, locateData, locateModel, parseHubName } from '../source/index.js'

export interface DownloadOptions {
  /** Default `model`. */
  readonly kind?: 'model' | 'data'
  /** A branch, a tag or a commit. Default: the one in the name, or `main`. */
  readonly revision?: string
  readonly report?: Report
  readonly signal?: AbortSignal
}

export interface Downloaded {
  /** In the cache of the Hub, which other tools share. */
  readonly directory: string
  readonly commit: string
}

/**
 * Fetches a model or a data set of the Hub into the shared cache. What is there already is not fetched again.
 *
 * @example
 * const { directory } = await download('Qwen/Qwen2.5-0.5B-Instruct')
 */
export async function download(id: string, options: DownloadOptions = {}): Promise<Downloaded> {
  const { kind = 'model', revision, report, signal } = options
  const meant = parseHubName(id.startsWith('hf:') ? id : `hf:${id}`, kind)!
  if (revision !== undefined && meant.revision !== undefined && revision !== meant.revision)
    throw new InputError(`revision: ${revision} is another one than that of ${id}; give only one of them`)
  const name = hubName({ ...meant, ...(revision === undefined ? {} : { revision }) })
  const around = { report, signal }
  const { origin, ...found } = kind === 'data' ? await locateData(name, around) : await locateModel(name, around)
  if (origin.kind !== 'hub') throw new InputError(`${id}: expected an id of the Hub: org/name`)
  const directory =
    'directory' in found ? found.directory : found.path.slice(0, found.path.length - partLength(meant.part))
  return { directory, commit: origin.commit }
}

const partLength = (part: string | undefined): number => (part === undefined ? 0 : part.length + 1)

export interface PushOptions {
  /** Default `model`. */
  readonly kind?: 'model' | 'data'
  /** Of a repository that is made now. Default: what its owner has set, mostly public. */
  readonly visibility?: 'private'
  readonly report?: Report
  readonly signal?: AbortSignal
}

/**
 * Uploads the model in a directory, or the best model of a run, to a repository of the Hub, which is made where it is missing.
 *
 * @example
 * const { url } = await push('runs/sft', 'my-name/my-model', { visibility: 'private' })
 */
export async function push(directory: string, id: string, options: PushOptions = {}): Promise<Pushed> {
  const { kind = 'model', visibility, report = silentReport, signal = new AbortController().signal } = options
  const type = kind === 'data' ? 'dataset' : 'model'
  const repo = { type, id: id.replace(/^hf:/, '') } as const
  return pushDirectory(directory, repo, { report, signal, visibility })
}
