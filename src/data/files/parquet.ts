/**
 * Parquet stores columns in groups of rows: reading one row means unpacking its group. Rows are needed in any order, so they are
 * unpacked once, group by group, into JSON lines in an unnamed file that disappears with the process.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { cacheDirectory, makeDirectory } from '../../files/index.js'
import { DataError } from '../errors.js'

export interface UnpackedParquet {
  /** A line of JSON for each row. */
  readonly handle: FileHandle
  /** The SHA-256 of the file's own bytes. */
  readonly fingerprint: string
  /** Its own size. */
  readonly bytes: number
}

/** Rows that become lines before others get their turn. */
const batchRows = 500

export interface UnpackOptions {
  readonly shown: string
  readonly signal?: AbortSignal | undefined
  /** No group is begun once there are so many rows. */
  readonly wanted?: number
}

export async function unpackParquet(source: FileHandle, options: UnpackOptions): Promise<UnpackedParquet> {
  const { shown, signal } = options
  const { size } = await source.stat()
  // The table of contents is at the end of the file, so that the bytes cannot be hashed in the order they are needed in.
  const fingerprint = await hashOf(source, signal)
  const file: AsyncBuffer = { byteLength: size, slice: (start, end = size) => bytesOf(source, start, end) }
  const metadata = await orDamaged(shown, () => parquetMetadataAsync(file))
  const handle = await temporaryFile(shown)
  try {
    await unpack(file, metadata, handle, options)
    return { handle, fingerprint, bytes: size }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function unpack(
  file: AsyncBuffer,
  metadata: FileMetaData,
  to: FileHandle,
  { shown, signal, wanted = Number.POSITIVE_INFINITY }: UnpackOptions,
): Promise<void> {
  let rowStart = 0
  for (const group of metadata.row_groups) {
    signal?.throwIfAborted()
    if (rowStart >= wanted) return
    const rowEnd = rowStart + Number(group.num_rows)
    const rows = await orDamaged(shown, () => parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors }))
    if (rows.length !== rowEnd - rowStart)
      throw damaged(shown, `${rows.length} of ${rowEnd - rowStart} rows of a group`)
    for (let from = 0; from < rows.length; from += batchRows) {
      const lines = rows.slice(from, from + batchRows).map(row => `${JSON.stringify(row, plainValue)}\n`)
      await to.appendFile(lines.join('')).catch((cause: Error) => {
        throw new DataError(`${shown}: cannot be unpacked to ${cacheDirectory()} (${cause.message})`, { cause })
      })
    }
    rowStart = rowEnd
  }
}

/** Types that JSON lacks: long integers, bytes and number arrays. Dates become texts. */
function plainValue(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : String(value)
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value
}

async function hashOf(source: FileHandle, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(1 << 20)
  for (let at = 0; ; ) {
    signal?.throwIfAborted()
    const { bytesRead } = await source.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

async function bytesOf(source: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const into = new Uint8Array(Math.max(0, end - start))
  for (let filled = 0; filled < into.length; ) {
    const { bytesRead } = await source.read(into, filled, into.length - filled, start + filled)
    if (bytesRead === 0) throw new Error('the file ends before its data')
    filled += bytesRead
  }
  return into.buffer
}

/**
 * An unlinked file, so that nothing is left however the process ends. It is in the cache directory, because the temporary
 * directory of the system may be in memory.
 */
async function temporaryFile(shown: string): Promise<FileHandle> {
  try {
    await makeDirectory(cacheDirectory())
    const folder = await mkdtemp(join(cacheDirectory(), 'rows-'))
    try {
      return await open(join(folder, 'rows.jsonl'), 'wx+', 0o600)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } catch (cause) {
    throw new DataError(
      `${shown}: cannot be unpacked to ${cacheDirectory()} (${(cause as Error).message}); set WHETSTONE_CACHE to a directory with enough space`,
      { cause },
    )
  }
}

async function orDamaged<T>(shown: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw damaged(shown, (cause as Error).message, cause)
  }
}

function damaged(shown: string, why: string, cause?: unknown): DataError {
  return new DataError(`${shown}: not a whole Parquet file (${why}); fetch it again`, { cause })
}
