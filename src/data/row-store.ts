/**
 * The rows of a set of files: found and checked once, then read in any order. Memory: 12 bytes per row for its position, and 4
 * per example.
 */
import type { Rows } from './encode.js'
import { DataError } from './errors.js'
import { RowFile } from './files/row-file.js'
import { GrowingList, lastAtMost } from './files/row-index.js'
import { checkColumns } from './formats/fields.js'
import type { DataOptions } from './options.js'
import { BadRows } from './read-rows.js'
import { RepeatCounter, type RowHash } from './row-id.js'
import { type ReadRow, type ReadRowOptions, readRowAs } from './row-readers.js'
import type { SourceFiles } from './source-files.js'
import type { ExampleKind, SkippedRow } from './types.js'

interface RowStoreOptions extends Pick<DataOptions, 'promptTemplate' | 'systemPrompt' | 'maxBadRows'> {
  /** Where bad rows are collected. Rows of several stores may be: they count together. */
  readonly bad?: BadRows | undefined
  /** What these rows are called where they are in more than one file. Default `data`. */
  readonly name?: string
  /** Share of the rows that goes to `heldOut`. */
  readonly heldOutShare: number
  /** What else is wrong with an example of a row; the row is then a bad one. */
  readonly checkExample?: ((example: Rows[ExampleKind]) => string | undefined) | undefined
  readonly onSkipped?: ((row: SkippedRow) => void) | undefined
  /** Bytes that have been read. */
  readonly onProgress?: ((bytes: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface StoredRow<T> {
  readonly row: T
  readonly where: string
  /** The permanent name of the row. */
  readonly promptId: string
}

interface OpenFile {
  readonly file: RowFile
  /** The number of its first row. */
  readonly first: number
  readonly options: ReadRowOptions
}

/** Rows that are skipped because of their contents, not because they are malformed: they do not count as bad. */
const harmless = new Set(['same-answers', 'overlong', 'nothing-to-train'])

export class RowStore<K extends ExampleKind> {
  /** Examples by source: the number of the row of each, so that a row with several is there as often. */
  readonly examples: GrowingList[]
  readonly heldOut = new GrowingList(Uint32Array)
  readonly formats: Record<string, number> = {}
  readonly skipped: Record<string, number> = {}
  /** Whether a row is in messages, which takes a chat template. */
  hasMessages = false
  readonly #files: OpenFile[] = []
  /** Which time it is, of rows that repeat. */
  readonly #repeats = new Map<number, number>()
  readonly #bad: BadRows
  readonly #name: string
  /** A bit for each row that no example could be made of, once there is one. */
  #dropped: Uint8Array | undefined
  /** The smallest hash of a row, and the rows that have it. */
  #least: { share: number; rows: Set<number> } = { share: 1, rows: new Set() }
  #rows = 0
  #isCollecting = false

  private constructor(
    readonly kind: K,
    private readonly found: SourceFiles,
    private readonly options: RowStoreOptions,
  ) {
    this.examples = found.sources.map(() => new GrowingList(Uint32Array))
    this.#name = found.files.length === 1 ? found.files[0]!.shown : (options.name ?? 'data')
    this.#bad = options.bad ?? new BadRows(this.#name)
  }

  static async open<K extends ExampleKind>(
    kind: K,
    found: SourceFiles,
    options: RowStoreOptions,
  ): Promise<RowStore<K>> {
    for (const { columns } of found.sources) checkColumns(columns ?? {})
    const store = new RowStore(kind, found, options)
    try {
      await store.#scan()
      store.#holdOutOne()
      // Rows that are collected over several stores are looked at when all are read.
      if (!options.bad) store.stopIfTooMany()
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  }

  get rows(): number {
    return this.#rows
  }

  get repeated(): number {
    return this.#repeats.size
  }

  get files(): readonly RowFile[] {
    return this.#files.map(({ file }) => file)
  }

  /** The example at a place of `examples` or `heldOut`. */
  async read(list: GrowingList, place: number): Promise<StoredRow<Rows[K]>> {
    const row = list.at(place)
    let part = 0
    while (part < place && list.at(place - part - 1) === row) part++
    const { file, first, options } = this.#fileOf(row)
    const located = await file.read(row - first)
    const { where } = located
    const read = readRowAs(this.kind, located, options)
    const example = read.kind === 'row' ? read.examples[part] : undefined
    if (read.kind !== 'row' || example === undefined)
      throw new DataError(`${where}: the row has changed; do not change the file during the run`)
    const times = this.#repeats.get(row)
    const promptId = `${read.hash.hex}${times === undefined ? '' : `#${times}`}${part === 0 ? '' : `.${part}`}`
    return { row: example, where, promptId }
  }

  /** Bytes of the row behind an example. */
  bytesOf(list: GrowingList, place: number): number {
    const row = list.at(place)
    const { file, first } = this.#fileOf(row)
    return file.index.lengthOf(row - first)
  }

  /** Records a row that gives no example, once for all epochs. Too many bad ones are an error. */
  drop(row: SkippedRow, list: GrowingList, place: number): void {
    const number = list.at(place)
    this.#dropped ??= new Uint8Array(Math.ceil(this.#rows / 8))
    const bit = 1 << (number & 7)
    if ((this.#dropped[number >> 3]! & bit) === 0) {
      this.#dropped[number >> 3]! |= bit
      this.#skip(row)
    }
    // Also where the same row of a later epoch, which is read ahead, was first.
    if (!this.#isCollecting) this.stopIfTooMany()
  }

  /** Bad rows that are found meanwhile are one error at the end, instead of any other error. */
  async collectingBadRows<T>(work: () => Promise<T>): Promise<T> {
    this.#isCollecting = true
    try {
      return await work()
    } finally {
      this.#isCollecting = false
      this.stopIfTooMany()
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map(({ file }) => file.close()))
  }

  async #scan(): Promise<void> {
    const { signal, onProgress } = this.options
    const counter = new RepeatCounter()
    let before = 0
    for (const { path, shown, source } of this.found.files) {
      const file = await RowFile.open(path, { shown, signal })
      const { columns = {} } = this.found.sources[source]!
      const { promptTemplate, systemPrompt } = this.options
      const options = { columns, values: file.values, promptTemplate, systemPrompt }
      this.#files.push({ file, first: this.#rows, options })
      for await (const batch of file.scan({ signal, onBytes: bytes => onProgress?.(before + bytes) }))
        for (const scanned of batch) {
          const { where, parsed } = scanned
          const found = parsed.kind === 'bad' ? parsed : readRowAs(this.kind, { value: parsed.value, where }, options)
          const read = this.#checked(found)
          if (read.kind === 'row') {
            file.index.add(scanned.place)
            this.formats[read.format] = (this.formats[read.format] ?? 0) + 1
            this.hasMessages ||= read.examples.some(inMessages)
            this.#add(source, read.hash, read.examples.length, counter)
            continue
          }
          this.#skip({ where, reason: read.reason, message: read.message })
        }
      before += file.bytes
    }
  }

  #checked(read: ReadRow<Rows[K]>): ReadRow<Rows[K]> {
    const { checkExample } = this.options
    if (!checkExample || read.kind === 'bad') return read
    for (const example of read.examples) {
      const message = checkExample(example)
      if (message !== undefined) return { kind: 'bad', reason: 'reward', message }
    }
    return read
  }

  #skip(row: SkippedRow): void {
    this.skipped[row.reason] = (this.skipped[row.reason] ?? 0) + 1
    if (!harmless.has(row.reason)) this.#bad.add(row.where, row.message, this.#name)
    this.options.onSkipped?.(row)
  }

  /** More bad rows than are allowed are an error. */
  stopIfTooMany(): void {
    const { maxBadRows } = this.options
    if (this.#bad.count <= maxBadRows) return
    throw this.#bad.error(
      maxBadRows === 0
        ? 'Fix them, or set maxBadRows to skip up to that many.'
        : `That is more than maxBadRows (${maxBadRows}): fix them, or raise it.`,
    )
  }

  #add(source: number, { number, share }: RowHash, examples: number, counter: RepeatCounter): void {
    const times = counter.count(number)
    if (times > 1) this.#repeats.set(this.#rows, times)
    const list = share < this.options.heldOutShare ? this.heldOut : this.examples[source]!
    if (share < this.#least.share) this.#least = { share, rows: new Set() }
    if (share === this.#least.share) this.#least.rows.add(this.#rows)
    for (let i = 0; i < examples; i++) list.push(this.#rows)
    this.#rows++
  }

  /** Of few rows a small share may be none. The row with the smallest hash is then held out: it is the first that a larger share takes. */
  #holdOutOne(): void {
    const { rows } = this.#least
    if (this.options.heldOutShare === 0 || this.heldOut.length > 0 || rows.size === this.#rows) return
    for (const [source, list] of this.examples.entries()) {
      const kept = new GrowingList(Uint32Array)
      for (let i = 0; i < list.length; i++) (rows.has(list.at(i)) ? this.heldOut : kept).push(list.at(i))
      this.examples[source] = kept
    }
  }

  #fileOf(row: number) {
    return this.#files[lastAtMost({ length: this.#files.length, at: i => this.#files[i]!.first }, row)]!
  }
}

function inMessages(row: Rows[ExampleKind]): boolean {
  if ('form' in row && row.form === 'messages') return true
  return 'prompt' in row && typeof row.prompt !== 'string'
}
