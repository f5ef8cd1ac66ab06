/**
 * A file of rows. One pass finds every row, classifies it and computes the fingerprint of the file; then rows can be read in any
 * order. Only their positions stay in memory.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { extname } from 'node:path'
import { systemProblem } from '../../errors/index.js'
import { DataError } from '../errors.js'
import { unpackArrow } from './arrow/unpack-arrow.js'
import { type Compression, compressionEndings, compressionOf, unpackCompressed } from './compressed.js'
import { csv } from './csv.js'
import { jsonList } from './json-list.js'
import { jsonLines, textLines } from './lines.js'
import { unpackParquet } from './parquet.js'
import type { ParsedRow, RowFormat } from './row-format.js'
import { RowIndex, type RowPlace } from './row-index.js'
import { maxRowBytes, type RawRow, RowSplitter } from './row-splitter.js'
import { copyStream, type UnpackedFile } from './unpacked.js'

/** A row that was found, or what is there in its stead. */
export interface ScannedRow {
  /** `FILE:12`, or `FILE, row 3`. */
  readonly where: string
  readonly place: RowPlace
  readonly parsed:
    | { readonly kind: 'row'; readonly value: unknown }
    | { readonly kind: 'bad'; readonly reason: string; readonly message: string }
}

export interface OpenOptions {
  /** What messages call it. */
  readonly shown?: string
  readonly signal?: AbortSignal | undefined
  /** How many rows are wanted at least, where not all are: more need not be unpacked. */
  readonly wanted?: number
  /** What a file is whose name does not say it. Default: an error. */
  readonly otherwise?: '.jsonl'
}

interface ScanOptions {
  readonly signal?: AbortSignal | undefined
  readonly onBytes?: ((bytes: number) => void) | undefined
}

const chunkBytes = 1 << 18
/** Rows of a chunk that are looked at before others get their turn. */
const batchRows = 128

/** Endings of files whose rows lie one after another. */
const textFormats: Readonly<Record<string, (shown: string) => RowFormat>> = {
  '.jsonl': () => jsonLines(),
  '.ndjson': () => jsonLines(),
  '.json': () => jsonList(),
  '.csv': shown => csv(shown),
  '.tsv': shown => csv(shown, '\t'),
  '.txt': () => textLines(),
}

/** Endings of files that store columns. */
const columnFormats = { '.parquet': unpackParquet, '.arrow': unpackArrow, '.feather': unpackArrow } as const
type ColumnEnding = keyof typeof columnFormats

/** Every line is a row, so that the first rows are the first lines. */
const lineEndings = ['.jsonl', '.ndjson', '.txt']

const endings = '.jsonl, .ndjson, .json, .csv, .tsv, .txt (also with .gz or .zst), .parquet or .arrow'

export class RowFile {
  readonly index = new RowIndex()
  #fingerprint = ''
  #bytes = 0

  private constructor(
    /** As people know it. */
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly format: RowFormat,
    /** Where `handle` is of the rows of another file. */
    private readonly unpacked?: UnpackedFile,
  ) {}

  static async open(file: string, { shown = file, otherwise, ...options }: OpenOptions = {}): Promise<RowFile> {
    const { ending, compression } = endingOf(file, shown, otherwise)
    let handle: FileHandle
    try {
      handle = await open(file)
    } catch (cause) {
      throw new DataError(whyUnreadable(shown, cause as NodeJS.ErrnoException), { cause })
    }
    try {
      const unpacked = await unpack(handle, { ending, compression, shown, ...options })
      const format = isColumnEnding(ending) ? jsonLines('row') : textFormats[ending]!(shown)
      if (!unpacked) return new RowFile(shown, handle, format)
      await handle.close()
      return new RowFile(shown, unpacked.handle, format, unpacked)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Of all bytes, in hexadecimal; there once the file was scanned. */
  get fingerprint(): string {
    return this.unpacked?.fingerprint ?? this.#fingerprint
  }

  get bytes(): number {
    return this.unpacked?.bytes ?? this.#bytes
  }

  get values(): RowFormat['values'] {
    return this.format.values
  }

  /** Every row of the file, some at a time. The caller adds those it wants to `index`. */
  async *scan({ signal, onBytes }: ScanOptions = {}): AsyncGenerator<ScannedRow[]> {
    const hash = createHash('sha256')
    const splitter = new RowSplitter(this.format.boundary)
    let blanks: ScannedRow[] = []
    const found = function* (this: RowFile, rows: Iterable<RawRow>): Generator<ScannedRow[]> {
      let batch: ScannedRow[] = []
      for (const raw of rows) {
        const row = this.#look(raw)
        if (row === 'blank') blanks.push(this.#bad(raw, 'empty-line', 'an empty line between rows; remove it'))
        if (typeof row === 'string') continue
        batch.push(...blanks, row)
        blanks = []
        if (batch.length < batchRows) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    }.bind(this)
    for (;;) {
      signal?.throwIfAborted()
      const chunk = await this.#readAt(this.#bytes, Buffer.allocUnsafeSlow(chunkBytes))
      if (chunk.length === 0) break
      hash.update(chunk)
      this.#bytes += chunk.length
      onBytes?.(this.#bytes)
      for (const batch of found(splitter.push(chunk))) {
        yield batch
        await turn()
      }
    }
    yield* found(splitter.end())
    const wrong = this.format.atEnd()
    if (wrong !== undefined && this.#bytes > 0) throw new DataError(`${this.path}: ${wrong}`)
    this.#fingerprint = hash.digest('hex')
  }

  /** The value of a row of the index. */
  async read(row: number): Promise<{ value: unknown; where: string }> {
    const place = this.index.at(row)
    const where = this.#where(place.line)
    const bytes = await this.#readAt(place.start, Buffer.allocUnsafe(place.length))
    const parsed = bytes.length === place.length ? this.#parse(bytes, place) : undefined
    if (parsed?.kind !== 'row')
      throw new DataError(`${where}: the row has changed; do not change the file during the run`)
    return { value: parsed.value, where }
  }

  close(): Promise<void> {
    return this.handle.close()
  }

  #look(raw: RawRow): ScannedRow | 'blank' | 'none' {
    const { bytes } = raw
    if (!bytes) {
      const message = `${Math.ceil(raw.length / 1e6)} MB in one row, more than ${maxRowBytes / 2 ** 20} MiB; shorten it, or remove it`
      return this.#bad(raw, 'too-large', message)
    }
    let parsed: ParsedRow
    try {
      parsed = this.#parse(bytes, raw)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      return this.#bad(raw, 'encoding', 'expected UTF-8 text; save the file as UTF-8')
    }
    if (parsed.kind === 'none' || parsed.kind === 'blank') return parsed.kind
    if (parsed.kind === 'bad' && parsed.reason === 'file') throw new DataError(`${this.path}: ${parsed.message}`)
    return { where: this.#where(raw.line), place: placeOf(raw), parsed }
  }

  #parse(bytes: Uint8Array, { start, line }: RowPlace): ParsedRow {
    const text = utf8.decode(bytes)
    return this.format.parse(start === 0 && text.startsWith('\uFEFF') ? text.slice(1) : text, line)
  }

  #bad(raw: RawRow, reason: string, message: string): ScannedRow {
    return { where: this.#where(raw.line), place: placeOf(raw), parsed: { kind: 'bad', reason, message } }
  }

  #where(line: number): string {
    return this.format.named === 'line' ? `${this.path}:${line}` : `${this.path}, row ${line}`
  }

  async #readAt(start: number, into: Buffer): Promise<Buffer> {
    let filled = 0
    while (filled < into.length) {
      const { bytesRead } = await this.handle
        .read(into, filled, into.length - filled, start + filled)
        .catch((cause: NodeJS.ErrnoException) => {
          throw new DataError(whyUnreadable(this.path, cause), { cause })
        })
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return into.subarray(0, filled)
  }
}

/** Byte-order marks are characters like any other to it: only the first one of a file is dropped. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const placeOf = ({ start, length, line }: RawRow): RowPlace => ({ start, length, line })

const isColumnEnding = (ending: string): ending is ColumnEnding => Object.hasOwn(columnFormats, ending)

/** The ending of a data file, without the one of its compression; undefined where it is another file. */
export function dataEnding(file: string): string | undefined {
  const last = extname(file).toLowerCase()
  const inner = compressionEndings[last] === undefined ? last : extname(file.slice(0, -last.length)).toLowerCase()
  if (Object.hasOwn(textFormats, inner)) return inner
  return isColumnEnding(inner) && inner === last ? inner : undefined
}

function endingOf(
  file: string,
  shown: string,
  otherwise: string | undefined,
): { ending: string; compression: Compression | undefined } {
  const ending = dataEnding(file)
  const compression = compressionEndings[extname(file).toLowerCase()]
  if (ending !== undefined) return { ending, compression }
  const inner = compression && extname(file.slice(0, -extname(file).length)).toLowerCase()
  if (inner !== undefined && isColumnEnding(inner))
    throw new DataError(`${shown}: compressed with ${compression} from outside; unpack it first`)
  if (otherwise !== undefined) return { ending: otherwise, compression }
  throw new DataError(`${shown}: expected a ${endings} file; save the dataset as one row of JSON per line`)
}

interface Opening extends OpenOptions {
  readonly ending: string
  readonly compression: Compression | undefined
  readonly shown: string
}

/** The rows of a file in another one, where they cannot be read from it in any order. */
async function unpack(handle: FileHandle, { ending, compression, wanted, ...options }: Opening) {
  const { shown } = options
  const there = await handle.stat()
  if (!there.isFile() && !there.isDirectory()) return copyStream(handle, options)
  if (isColumnEnding(ending)) return columnFormats[ending](handle, { ...options, ...(wanted ? { wanted } : {}) })
  const found = await compressionOf(handle).catch((cause: NodeJS.ErrnoException) => {
    throw new DataError(whyUnreadable(shown, cause), { cause })
  })
  if (found === 'zip')
    throw new DataError(`${shown}: compressed with zip, which is not supported; unpack it first (unzip)`)
  if (compression !== undefined && found !== compression)
    throw new DataError(`${shown}: not a ${compression} file; rename it, or fetch it again`)
  if (found === undefined) return undefined
  const lines = wanted !== undefined && lineEndings.includes(ending) ? { wanted } : {}
  return unpackCompressed(handle, found, { ...options, ...lines })
}

export function whyUnreadable(file: string, cause: NodeJS.ErrnoException): string {
  if (cause.code === 'ENOENT') return `${file}: there is no such file`
  if (cause.code === 'EISDIR') return `${file} is a directory; give its files, such as ${file}/*.jsonl`
  return `${file}: ${systemProblem(cause, 'read')}`
}

/** Yields to the event loop. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
