/** A model for others: as a GGUF file with a Modelfile, or as a Hugging Face directory. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { InputError } from '../errors/index.js'
import { checkNewDirectory, openOutput } from '../files/index.js'
import { exportGguf, modelfile, type WrittenType } from '../gguf/index.js'
import { LocalModel, readConfig } from '../model/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { modelOfRun, Run } from '../run/index.js'
import { locateModel, withBase } from '../source/index.js'
import type { DType } from '../tensor/index.js'
import { exportRun } from '../train/index.js'
import { checkNames, named } from './known-options.js'
import { placeCard } from './model-card.js'

interface CommonOptions {
  /** An adapter (PEFT) that is merged into the model first. */
  readonly merge?: string | undefined
  readonly report?: Report | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ExportGgufOptions extends CommonOptions {
  readonly to: 'gguf'
  /** The file to write. Default: `NAME-gguf/NAME-TYPE.gguf`. */
  readonly out?: string | undefined
  /** Type of the matrices. Default: bf16 for a bfloat16 model, else f16. */
  readonly type?: WrittenType | undefined
}

export interface ExportDirectoryOptions extends CommonOptions {
  readonly to: 'hf'
  /** The directory to write. Default: `NAME-hf`. */
  readonly out?: string | undefined
  /** Default: that of the model. */
  readonly dtype?: DType | undefined
}

export interface ExportedModel {
  /** The GGUF file, or the directory. */
  readonly path: string
  /** Which model was taken: of a run, its best one. */
  readonly source: string
  readonly parameters: number
  readonly bytes: number
  /** All files that were written. */
  readonly files: readonly string[]
  /** What a user should know. */
  readonly notes: readonly string[]
}

const commonNames = ['to', 'out', 'merge', 'report', 'signal'] as const
const ggufNames = named(...commonNames, 'type')
const directoryNames = named(...commonNames, 'dtype')

/**
 * Writes a model (a directory, a run, an adapter, a GGUF file or an id of the Hub) for other programs.
 *
 * @example
 * const { path } = await exportModel('runs/grpo', { to: 'gguf', type: 'q8_0', out: 'mine.gguf' })
 */
export async function exportModel(
  model: string,
  options: ExportGgufOptions | ExportDirectoryOptions,
): Promise<ExportedModel> {
  if (options?.to === 'hf') checkNames('exportModel', options, directoryNames, ['to'])
  else checkNames('exportModel', options, ggufNames, ['to'])
  const { to }: { to: unknown } = options
  if (to !== 'hf' && to !== 'gguf')
    throw new InputError(`exportModel: to: expected 'gguf' or 'hf', got ${JSON.stringify(to)}`)
  const { merge, report = silentReport, signal = new AbortController().signal } = options
  const around = { report, signal }
  const name = basename(resolve(model), extname(model) === '.gguf' ? '.gguf' : '')
  const parts = await partsOf(model, { merge, ...around })
  await refuseSource(options.out, [model, parts.directory, parts.adapter])
  if (options.to === 'hf') {
    const path = options.out ?? `${name}-hf`
    const sizes = await writeDirectory(parts, { out: path, dtype: options.dtype, ...around })
    const card = await placeCard(path, { ...cardOf(parts, 'model'), name })
    return { path, source: parts.source, ...sizes, files: [path, ...card], notes: [] }
  }
  const isWhole = parts.adapter === undefined && parts.directory !== undefined
  const work = isWhole ? undefined : await workFolder(options.out)
  try {
    const directory = await wholeModel(parts, work, around)
    return await writeFileAndTexts(parts, { ...options, directory, name, ...around })
  } finally {
    if (work !== undefined) await rm(work, { recursive: true, force: true })
  }
}

/** What is written would take the place of what it is made of. */
async function refuseSource(out: string | undefined, sources: readonly (string | undefined)[]): Promise<void> {
  const real = (path = ''): Promise<string | undefined> => realpath(path).catch(() => undefined)
  const [place, ...taken] = await Promise.all([out, ...sources].map(real))
  if (place !== undefined && taken.includes(place))
    throw new InputError(`${out}: it is what is exported, and would be replaced; choose another place`)
}

/** What the exported model is made of. */
interface Parts {
  /** For messages. */
  readonly source: string
  /** Undefined: the newest checkpoint of the run `source`. */
  readonly directory: string | undefined
  readonly adapter: string | undefined
}

interface Around {
  readonly report: Report
  readonly signal: AbortSignal
}

async function partsOf(model: string, { merge, ...around }: Around & { merge: string | undefined }): Promise<Parts> {
  const adapter = merge === undefined ? undefined : (await locateModel(merge, around)).directory
  if (existsSync(model) && (await Run.isIn(model).catch(() => false))) {
    const made = modelOfRun(model)
    if (made === undefined) return { source: model, directory: undefined, adapter }
    return partsOfDirectory(made, adapter, around)
  }
  const { directory, origin } = await locateModel(model, around)
  const parts = await partsOfDirectory(directory, adapter, around)
  return origin.kind === 'path' ? parts : { ...parts, source: model }
}

/** A directory with an adapter alone names the model that it belongs to. */
async function partsOfDirectory(directory: string, merge: string | undefined, around: Around): Promise<Parts> {
  const { model, adapter } = await withBase({ model: directory, adapter: merge }, around)
  return { source: directory, directory: model, adapter }
}

const cardOf = ({ source, directory, adapter }: Parts, form: 'model' | 'gguf') =>
  ({ model: directory ?? source, adapter, form }) as const

/** Beside the output, where there is room for it. */
async function workFolder(out: string | undefined): Promise<string> {
  const folder = resolve(dirname(out ?? 'model'))
  await checkNewDirectory(folder)
  await mkdir(folder, { recursive: true })
  return mkdtemp(join(folder, '.whetstone-export-'))
}

/** The model as a Hugging Face directory: itself, or in the work folder with its adapter merged. */
async function wholeModel(parts: Parts, work: string | undefined, around: Around): Promise<string> {
  if (work === undefined) return parts.directory!
  const out = join(work, 'model')
  await writeDirectory(parts, { out, dtype: undefined, ...around })
  return out
}

type Sizes = Pick<ExportedModel, 'parameters' | 'bytes'>
const sizesOf = ({ parameters, bytes }: Sizes): Sizes => ({ parameters, bytes })

async function writeDirectory(
  { source, directory, adapter }: Parts,
  { out, dtype, report, signal }: Around & { out: string; dtype: DType | undefined },
): Promise<Sizes> {
  if (directory === undefined) {
    if (adapter !== undefined) throw new InputError(`${source} has no model yet that an adapter could be merged into`)
    if (dtype !== undefined && dtype !== 'float32')
      throw new InputError(`dtype: a checkpoint can be written in the dtype of the run, or in float32, not in ${dtype}`)
    return sizesOf(await exportRun(source, { out, what: 'model', ...(dtype && { dtype }) }, { report, signal }))
  }
  const { head } = await readConfig(directory)
  const loading = report.transfer('loading')
  const model = await LocalModel.load(directory, {
    role: head === 'score' ? 'reward' : 'language',
    ...(adapter !== undefined && { adapter }),
    ...(dtype && { dtype }),
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  try {
    return sizesOf(await model.export(out, { what: 'model' }))
  } finally {
    model.dispose()
  }
}

async function writeFileAndTexts(
  parts: Parts,
  given: Pick<ExportGgufOptions, 'out' | 'type'> & Around & { directory: string; name: string },
): Promise<ExportedModel> {
  const { out, type, directory, name, report, signal } = given
  const chosen = type ?? ((await isBfloat(directory)) ? 'bf16' : 'f16')
  const path = out ?? join(`${name}-gguf`, `${name}-${chosen}.gguf`)
  const folder = dirname(resolve(path))
  await checkNewDirectory(folder)
  await mkdir(folder, { recursive: true })
  await openOutput(path, { inputs: [], directories: [] })
  const writing = report.transfer('writing')
  const made = await exportGguf(directory, {
    ...{ out: path, type: chosen, name, signal },
    onProgress: ({ bytesDone, bytesTotal }) => writing.at(bytesDone, bytesTotal),
  }).finally(() => writing.end())
  const generation = await readJson(join(directory, 'generation_config.json'))
  const texts = modelfile({ ...made, file: basename(path), generation })
  const placed = await writeOwn(join(folder, 'Modelfile'), texts)
  const card = await placeCard(folder, { ...cardOf(parts, 'gguf'), name })
  return {
    ...{ path, source: parts.source, ...sizesOf(made) },
    files: [path, ...placed, ...card],
    notes: [
      ...made.notes,
      ...(placed.length === 0 ? [`${join(folder, 'Modelfile')} is not one of ours: it was left as it is`] : []),
      ...(card.length === 0 ? [`${join(folder, 'README.md')} was there already: no model card was written`] : []),
    ],
  }
}

async function isBfloat(directory: string): Promise<boolean> {
  const { dtype, torch_dtype: older } = await readJson(join(directory, 'config.json'))
  return (dtype ?? older) === 'bfloat16'
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch(() => '{}')
  return JSON.parse(text) as Record<string, unknown>
}

const mark = '# Made by whetstone export.'

/** A Modelfile that this command did not write stays. */
async function writeOwn(path: string, text: string): Promise<string[]> {
  const found = await readFile(path, 'utf8').catch(() => mark)
  if (!found.startsWith(mark)) return []
  await writeFile(path, `${mark}\n${text}`)
  return [path]
}
