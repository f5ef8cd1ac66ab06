/** Models and data sets from the Hub, and to it. */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { hubId, publicName } from '../card/index.js'
import { InputError } from '../errors/index.js'
import { type Pushed, pushDirectory } from '../hub/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { modelOfRun } from '../run/index.js'
import { hubName, locateData, locateModel, parseHubName } from '../source/index.js'
import { placeCard } from './model-card.js'

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
  const { origin } = kind === 'data' ? await locateData(name, around) : await locateModel(name, around)
  if (origin.kind !== 'hub') throw new InputError(`${id}: expected an id of the Hub: org/name`)
  return { directory: origin.directory, commit: origin.commit }
}

export interface PushOptions {
  /** Default `model`. */
  readonly kind?: 'model' | 'data'
  /** Of a repository that is made now. Default: what its owner has set, mostly public. */
  readonly visibility?: 'private'
  readonly report?: Report
  readonly signal?: AbortSignal
}

/**
 * Uploads the model in a directory, or the best model of a run, to a repository of the Hub, which is made where it is missing. A model
 * without a card gets one.
 *
 * @example
 * const { url } = await push('runs/sft', 'my-name/my-model', { visibility: 'private' })
 */
export async function push(directory: string, id: string, options: PushOptions = {}): Promise<Pushed> {
  const { kind = 'model', visibility, report = silentReport, signal = new AbortController().signal } = options
  const repo = { type: kind === 'data' ? 'dataset' : 'model', id: id.replace(/^hf:/, '') } as const
  const around = { report, signal, visibility }
  if (kind === 'data') return pushDirectory(directory, repo, around)
  const model = modelOfRun(directory) ?? directory
  const made = await mkdtemp(join(tmpdir(), 'whetstone-push-'))
  try {
    if (existsSync(model)) await writeOwnFiles(made, { model, title: repo.id, report })
    return await pushDirectory(model, repo, { ...around, made })
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}

/** What others need and the directory does not have: a card, and for an adapter a base model without a path of this machine. */
async function writeOwnFiles(
  made: string,
  { model, title, report }: { model: string; title: string; report: Report },
): Promise<void> {
  const names = await readdir(model)
  const adapter = names.includes('adapter_config.json')
  const form = adapter ? 'adapter' : names.some(name => name.endsWith('.safetensors')) ? 'model' : 'gguf'
  if (!names.includes('README.md')) await placeCard(made, { model, form, title })
  if (!adapter) return
  const config = JSON.parse(await readFile(join(model, 'adapter_config.json'), 'utf8')) as Record<string, unknown>
  const base = config.base_model_name_or_path
  if (typeof base !== 'string' || !isAbsolute(base)) return
  const shown = publicName(base)
  const text = JSON.stringify({ ...config, base_model_name_or_path: shown }, null, 2)
  await writeFile(join(made, 'adapter_config.json'), `${text}\n`)
  if (hubId(base) === undefined)
    report.line(`The base model of the adapter is ${base}, which others do not have. They will read: ${shown}.`)
}
