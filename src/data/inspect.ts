/** Inspects a data file: its kind, its rows, their lengths, and some of them as a trainer sees them. */
import { ProblemList } from '../errors/index.js'
import type { Tokenizer } from '../text/index.js'
import { encodeRow, type Rows } from './encode.js'
import { DataError } from './errors.js'
import { RowFile } from './files/row-file.js'
import { GrowingList } from './files/row-index.js'
import { type LengthSummary, summarizeLengths } from './lengths.js'
import { promptWithMedia, type RowProcessor } from './media-rows.js'
import type { DataOptions, DataSpec } from './options.js'
import type { FilePrompt } from './prompts.js'
import { type RenderedRow, renderExample, renderRow } from './render-row.js'
import { readRowAs } from './row-readers.js'
import { type Column, ColumnInference } from './row-schema.js'
import { RowStore, type StoredRow } from './row-store.js'
import { findSourceFiles, type SourceFiles } from './source-files.js'
import type { ExampleKind, SkippedRow } from './types.js'

export interface InspectOptions extends DataOptions {
  readonly baseDirectory: string
  /** Default: what most of the first rows are. */
  readonly kind?: ExampleKind
  /** Lengths and rows in tokens; without it in characters. */
  readonly tokenizer?: Tokenizer
  /** What reads images and videos: they are opened, and lengths have their tokens. Null: the model reads text alone. */
  readonly processor?: RowProcessor | null | undefined
  /** How many rows are rendered. */
  readonly rendered: number
  readonly signal?: AbortSignal
  /** Examples that have been looked at, of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

interface InspectedColumn extends Column {
  /** A field such as `prompt`; undefined where it is only a column. */
  readonly role?: string | undefined
}

export interface Inspection {
  readonly kind: ExampleKind
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly rows: number }[]
  readonly formats: Readonly<Record<string, number>>
  /** Columns of the first rows, and what each is used as. */
  readonly columns: readonly InspectedColumn[]
  /** Other kinds that the first rows could be. */
  readonly otherKinds: readonly ExampleKind[]
  readonly rows: number
  readonly repeated: number
  readonly examples: number
  /** Rows that are left out, by reason, and the first of them. */
  readonly skipped: Readonly<Record<string, number>>
  readonly skippedRows: readonly SkippedRow[]
  /** The same for people: some of each reason, and how many there are of it. */
  readonly skippedLines: readonly string[]
  readonly unit: 'tokens' | 'characters'
  readonly lengths: LengthSummary
  readonly rendered: readonly RenderedRow[]
}

/** Rows that are looked at for what they are, and bad ones that are listed. */
const listed = 10
/** Examples that are encoded at once. */
const together = 32

/**
 * Inspects every row of some files. Bad rows are part of the result, not an error.
 *
 * @example
 * const options = { ...dataOptionsSchema.parse({}), baseDirectory: '.', rendered: 3 }
 * const { kind, lengths } = await inspectData('train.jsonl', { ...options, tokenizer })
 */
export async function inspectData(spec: DataSpec, options: InspectOptions): Promise<Inspection> {
  const found = await findSourceFiles(spec, options.baseDirectory)
  const sample = await firstRows(found, options)
  const kind = options.kind ?? likeliestKind(sample)
  const skippedRows: SkippedRow[] = []
  const problems = new ProblemList(listed)
  const onSkipped = (row: SkippedRow) => {
    problems.add(row.where, row.message)
    if (skippedRows.length < listed) skippedRows.push(row)
  }
  const { promptTemplate, systemPrompt, signal } = options
  const everything = { heldOutShare: 0, maxBadRows: Number.MAX_SAFE_INTEGER }
  const store = await RowStore.open(kind, found, { ...everything, promptTemplate, systemPrompt, onSkipped, signal })
  try {
    const looked = await look(store, options)
    const others = kinds.filter(
      other => other !== kind && sample.every(({ problems }) => problems[other] === undefined),
    )
    return {
      kind,
      otherKinds: sample.length === 0 ? [] : others,
      files: store.files.map(({ path, bytes, index }) => ({ path, bytes, rows: index.size })),
      formats: store.formats,
      columns: inspectedColumns(sample, kind),
      rows: store.rows,
      repeated: store.repeated,
      examples: looked.lengths.count,
      skipped: store.skipped,
      skippedRows,
      skippedLines: problems.lines,
      unit: options.tokenizer ? 'tokens' : 'characters',
      ...looked,
    }
  } finally {
    await store.close()
  }
}

async function look(
  store: RowStore<ExampleKind>,
  options: InspectOptions,
): Promise<{ lengths: LengthSummary; rendered: RenderedRow[] }> {
  const lengths = new GrowingList(Uint32Array)
  const rendered: RenderedRow[] = []
  const total = store.examples.reduce((sum, { length }) => sum + length, 0)
  let done = 0
  for (const list of store.examples)
    for (let from = 0; from < list.length; from += together) {
      options.signal?.throwIfAborted()
      const places = Array.from({ length: Math.min(together, list.length - from) }, (_, i) => from + i)
      const rows = await Promise.all(
        places.map(async place => {
          const row = await store.read(list, place)
          const shown = await lookAt(store.kind, row, options)
          // Rows that only a tokenizer finds something wrong with.
          if ('reason' in shown) store.drop({ where: row.where, ...shown }, list, place)
          return shown
        }),
      )
      for (const row of rows) {
        if ('reason' in row) continue
        lengths.push(row.length)
        if (rendered.length < options.rendered) rendered.push(await row.render())
      }
      done += places.length
      options.onProgress?.(done, total)
    }
  return { lengths: summarizeLengths(Uint32Array.from({ length: lengths.length }, (_, i) => lengths.at(i))), rendered }
}

interface Looked {
  readonly length: number
  render(): Promise<RenderedRow> | RenderedRow
}

async function lookAt<K extends ExampleKind>(
  kind: K,
  stored: StoredRow<Rows[K]>,
  { tokenizer, ...options }: InspectOptions,
): Promise<Looked | { reason: string; message: string }> {
  const { row, where } = stored
  if (!tokenizer) {
    const rendered = renderRow(kind, row, options)
    return { length: rendered.length, render: () => ({ where, ...rendered }) }
  }
  const encoded = await encodeRow(kind, stored, { ...options, tokenizer })
  if (encoded.kind === 'dropped') return { reason: encoded.reason, message: encoded.message }
  const rendering = renderExample(kind, encoded.example, tokenizer)
  const seen =
    kind === 'prompts' ? await promptWithMedia(encoded.example as FilePrompt, { ...options, tokenizer }) : undefined
  if (seen && 'message' in seen) return { reason: 'media', message: seen.message }
  return {
    length: seen?.length ?? (await rendering.length()),
    render: async () => ({ where, ...(await rendering.render()) }),
  }
}

interface FirstRow {
  readonly value: unknown
  /** Its problem for each kind that it does not fit. */
  readonly problems: Readonly<Partial<Record<ExampleKind, string>>>
  /** What its columns are, for each kind that it fits. */
  readonly roles: Readonly<Partial<Record<ExampleKind, ReadonlyMap<string, string>>>>
}

function inspectedColumns(rows: readonly FirstRow[], kind: ExampleKind): InspectedColumn[] {
  const inference = new ColumnInference()
  const roles = new Map<string, string>()
  for (const row of rows) {
    if (isObject(row.value)) inference.add(row.value)
    for (const [column, role] of row.roles[kind] ?? []) roles.set(column, role)
  }
  const { columns } = inference
  const known = columns.map(column => ({ ...column, role: roles.get(column.name) }))
  // Fields inside of columns.
  const inner = [...roles].filter(([name]) => isObject(rows[0]?.value) && !columns.some(column => column.name === name))
  return [...known, ...inner.map(([name, role]) => ({ name, type: 'field', rows: rows.length, role }))]
}

/** The kind is the first of these that accepts half of the rows; kinds with more columns come first. */
const kinds: readonly ExampleKind[] = ['preferences', 'labelled', 'conversations', 'prompts']

async function firstRows({ files, sources }: SourceFiles, options: InspectOptions): Promise<FirstRow[]> {
  const [{ path, shown, source }] = files as [SourceFiles['files'][number]]
  const { columns = {} } = sources[source]!
  const file = await RowFile.open(path, { shown, signal: options.signal, wanted: listed })
  const rows: FirstRow[] = []
  try {
    for await (const batch of file.scan()) {
      for (const { where, parsed } of batch) {
        if (parsed.kind === 'bad') continue
        const { value } = parsed
        const problems: Partial<Record<ExampleKind, string>> = {}
        const roles: Partial<Record<ExampleKind, ReadonlyMap<string, string>>> = {}
        for (const kind of kinds) {
          const read = readRowAs(kind, { value, where }, { ...options, columns, values: file.values })
          if (read.kind === 'bad') problems[kind] = read.message
          else roles[kind] = read.roles
        }
        rows.push({ value, problems, roles })
      }
      if (rows.length >= listed) break
    }
  } finally {
    await file.close()
  }
  return rows
}

function likeliestKind(rows: readonly FirstRow[]): ExampleKind {
  if (rows.length === 0) return 'prompts'
  // Lines of plain text are prompts unless the kind is set.
  if (rows.every(({ value }) => typeof value === 'string')) return 'prompts'
  const fits = kinds.map(kind => rows.filter(({ problems }) => problems[kind] === undefined).length)
  const half = fits.findIndex(count => 2 * count >= rows.length)
  const most = half >= 0 ? half : fits.indexOf(Math.max(...fits))
  if (fits[most]! > 0) return kinds[most]!
  const columns = isObject(rows[0]!.value) ? Object.keys(rows[0]!.value).join(', ') : ''
  const choice = Object.values(rows[0]!.problems).find(problem => problem.includes('each can be'))
  throw new DataError(
    `the kind of the rows is unknown; the first row has ${columns || 'no columns'}. ${choice === undefined ? '' : `${choice}. `}Name the columns (columns), such as prompt=question, or set the kind (kind) to see what is wrong`,
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
