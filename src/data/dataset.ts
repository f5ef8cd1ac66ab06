/** Files in, examples out. */
import { resolve } from 'node:path'
import type { Tokenizer } from '../text/index.js'
import { type AnswerEnd, type Encoded, type EncodeOptions, encodeRow } from './encode.js'
import { EpochOrder, type Visit } from './epoch-order.js'
import { DataError } from './errors.js'
import { type ExampleSource, FixedSet, ShuffledStream } from './example-stream.js'
import type { GrowingList } from './files/row-index.js'
import type { RowProcessor } from './media-rows.js'
import type { DataOptions, DataSpec } from './options.js'
import type { PromptRow } from './prompts.js'
import { BadRows } from './read-rows.js'
import { RowStore } from './row-store.js'
import { findSourceFiles } from './source-files.js'
import type { DataReport, Dataset, ExampleKind, ExampleSet, ExampleStream, Examples, SkippedRow } from './types.js'

export interface OpenDatasetOptions extends DataOptions {
  /** Of the order. */
  readonly seed: number
  readonly answerEnd?: AnswerEnd
  /** What paths are relative to. */
  readonly baseDirectory: string
  /** A further check of prompt rows, such as whether their samples can get a reward; returns the problem of a bad row. */
  readonly checkPrompt?: (prompt: PromptRow) => string | undefined
  readonly onSkipped?: (row: SkippedRow) => void
  /** Bytes that have been read. */
  readonly onProgress?: (bytes: number) => void
  readonly signal?: AbortSignal
}

/**
 * Opens data files and checks every row, with memory that does not grow with their contents. Needs no model, so problems of the
 * data are found before one is loaded.
 *
 * @example
 * const options = dataOptionsSchema.parse({ validationShare: 0.05 })
 * const dataset = await openDataset('conversations', 'data/*.jsonl', { ...options, seed: 0, baseDirectory: '.' })
 * const examples = await dataset.train(tokenizer).take(32)
 */
export async function openDataset<K extends ExampleKind>(
  kind: K,
  spec: DataSpec,
  options: OpenDatasetOptions,
): Promise<Dataset<K>> {
  const { validationData, validationShare, baseDirectory } = options
  if (validationData !== undefined && validationShare > 0)
    throw new DataError('validationData and validationShare: give only one of them')
  const found = await findSourceFiles(spec, baseDirectory)
  const { checkPrompt } = options
  const settings = {
    ...options,
    checkExample: kind === 'prompts' && checkPrompt ? (row: unknown) => checkPrompt(row as PromptRow) : undefined,
  }
  const bad = new BadRows('data')
  const store = await RowStore.open(kind, found, { ...settings, bad, heldOutShare: validationShare })
  let held: RowStore<K> | undefined
  try {
    if (validationData !== undefined) {
      const files = await findSourceFiles(validationData, baseDirectory)
      if (files.sources.some(({ weight }) => weight !== undefined))
        throw new DataError('validationData: weight has no meaning here (each row is used once); remove it')
      held = await RowStore.open(kind, files, { ...settings, bad, name: 'validationData', heldOutShare: 0 })
    }
    store.stopIfTooMany()
    if (held?.rows === 0) throw empty(held, 'validationData')
    const dataset = new OpenDataset(
      kind,
      found.sources.map(({ weight = 1 }) => weight),
      store,
      held,
      options,
    )
    if (dataset.report.train === 0) throw empty(store, 'data')
    if (validationShare > 0 && store.heldOut.length === 0)
      throw new DataError(
        `validationShare: no row is left to train on if one is held out; add rows that differ, or give validationData`,
      )
    return dataset
  } catch (error) {
    await Promise.all([store.close(), held?.close()])
    throw error
  }
}

function empty(store: RowStore<ExampleKind>, what: string): DataError {
  const files = store.files.map(({ path }) => path).join(', ')
  if (store.rows > 0)
    return new DataError(`${what}: all ${store.rows} rows of ${files} are held out; lower validationShare`)
  const skipped = Object.entries(store.skipped).map(([reason, count]) => `${count} ${reason}`)
  return new DataError(`${what}: no rows in ${files}${skipped.length > 0 ? ` (skipped: ${skipped.join(', ')})` : ''}`)
}

class OpenDataset<K extends ExampleKind> implements Dataset<K> {
  readonly report: DataReport
  readonly fingerprints: Readonly<Record<string, string>>
  #processor: RowProcessor | null | undefined

  constructor(
    readonly kind: K,
    private readonly weights: readonly number[],
    private readonly store: RowStore<K>,
    private readonly held: RowStore<K> | undefined,
    private readonly options: OpenDatasetOptions,
  ) {
    const files = [...store.files, ...(held?.files ?? [])]
    // Absolute paths: a run may be resumed from another directory.
    this.fingerprints = Object.fromEntries(
      files.map(({ path, fingerprint }) => [resolve(options.baseDirectory, path), fingerprint]),
    )
    const heldOut = held ? sum(held.examples.map(({ length }) => length)) : store.heldOut.length
    this.report = {
      files: files.map(({ path, bytes, index }) => ({ path, bytes, rows: index.size })),
      rows: store.rows + (held?.rows ?? 0),
      formats: added(store.formats, held?.formats),
      skipped: added(store.skipped, held?.skipped),
      repeated: store.repeated + (held?.repeated ?? 0),
      train: new EpochOrder({ sources: weighted(store.examples, weights), seed: 0, shuffle: false }).size,
      validation: heldOut,
    }
  }

  readMediaWith(processor: RowProcessor | null): void {
    this.#processor = processor
  }

  train(tokenizer: Tokenizer): ExampleStream<Examples[K]> {
    const { store } = this
    return new ShuffledStream(this.#examples(tokenizer, store, store.examples, this.weights, this.options.shuffle))
  }

  validation(tokenizer: Tokenizer): ExampleSet<Examples[K]> | undefined {
    if (this.report.validation === 0) return undefined
    const store = this.held ?? this.store
    const lists = this.held ? this.held.examples : [this.store.heldOut]
    return new FixedSet(
      this.#examples(
        tokenizer,
        store,
        lists,
        lists.map(() => 1),
        false,
      ),
    )
  }

  collectingBadRows<T>(work: () => Promise<T>): Promise<T> {
    const { store, held } = this
    return store.collectingBadRows(held ? () => held.collectingBadRows(work) : work)
  }

  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.held?.close()])
  }

  #examples(
    tokenizer: Tokenizer,
    store: RowStore<K>,
    lists: readonly GrowingList[],
    weights: readonly number[],
    shuffle: boolean,
  ): ExampleSource<Examples[K]> {
    checkTemplate(tokenizer, store, this.options)
    const sources = weighted(lists, weights)
    const encodeOptions = { ...this.options, tokenizer, processor: this.#processor }
    return {
      order: new EpochOrder({ sources, seed: this.options.seed, shuffle }),
      bytesOf: ({ source, place }) => store.bytesOf(lists[source]!, place),
      load: visit => this.#load(store, lists, visit, encodeOptions),
    }
  }

  async #load(
    store: RowStore<K>,
    lists: readonly GrowingList[],
    { source, place, copy }: Visit,
    options: EncodeOptions,
  ): Promise<Encoded<Examples[K]>> {
    const stored = await store.read(lists[source]!, place)
    const promptId = copy === 0 ? stored.promptId : `${stored.promptId}+${copy}`
    const encoded = await encodeRow(this.kind, { ...stored, promptId }, options)
    if (encoded.kind === 'dropped') {
      const { reason, message } = encoded
      store.drop({ where: stored.where, reason, message }, lists[source]!, place)
    }
    return encoded
  }
}

function checkTemplate(tokenizer: Tokenizer, store: RowStore<ExampleKind>, options: DataOptions): void {
  const named = !['auto', 'none'].includes(options.chatTemplate)
  if (named && tokenizer.givenTemplate === undefined)
    throw new DataError(
      `chatTemplate: the tokenizer was loaded without ${options.chatTemplate}; load it with that: Tokenizer.load(DIR, { chatTemplate })`,
    )
  if (tokenizer.hasChatTemplate) return
  const why =
    options.systemPrompt !== undefined
      ? 'systemPrompt is set'
      : store.hasMessages
        ? 'the data has messages or system messages'
        : undefined
  if (why !== undefined)
    throw new DataError(
      `${tokenizer.dir}: no chat template, and ${why}; set one (chatTemplate: chatml, or a Jinja file), or give the data as text`,
    )
}

const weighted = (lists: readonly GrowingList[], weights: readonly number[]) =>
  lists.map(({ length }, i) => ({ size: length, weight: weights[i]! }))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

function added(first: Record<string, number>, second: Record<string, number> = {}): Record<string, number> {
  const both = { ...first }
  for (const [key, value] of Object.entries(second)) both[key] = (both[key] ?? 0) + value
  return both
}
