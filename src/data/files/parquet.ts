/** Parquet stores columns in groups of rows: reading one row means unpacking its group. Groups are unpacked one by one. */
import type { FileHandle } from 'node:fs/promises'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { DataError } from '../errors.js'
import { featureReadings, withReadings } from './features.js'
import { plainBytes, plainDate, plainInteger, plainTime } from './plain-value.js'
import { bytesAt, hashOf, type UnpackedFile, type UnpackOptions, type UnpackTarget, unpackInto } from './unpacked.js'

export async function unpackParquet(source: FileHandle, options: UnpackOptions): Promise<UnpackedFile> {
  const { shown, signal } = options
  const { size } = await source.stat()
  // The table of contents is at the end of the file, so that the bytes cannot be hashed in the order they are needed in.
  const fingerprint = await hashOf(source, signal)
  const slice = async (start: number, end = size) => (await bytesAt(source, start, Math.max(0, end - start))).buffer
  const file: AsyncBuffer = { byteLength: size, slice }
  const metadata = await orDamaged(shown, () => parquetMetadataAsync(file))
  const handle = await unpackInto(shown, to => unpack(file, metadata, to, options))
  return { handle, fingerprint, bytes: size }
}

const parsers = {
  timestampFromMilliseconds: (value: bigint) => plainTime(value, 1_000),
  timestampFromMicroseconds: (value: bigint) => plainTime(value, 1_000_000),
  timestampFromNanoseconds: (value: bigint) => plainTime(value, 1_000_000_000),
  dateFromDays: plainDate,
}

async function unpack(
  file: AsyncBuffer,
  metadata: FileMetaData,
  to: UnpackTarget,
  { shown, signal, wanted = Number.POSITIVE_INFINITY }: UnpackOptions,
): Promise<void> {
  const readings = featureReadings(metadata.key_value_metadata?.find(({ key }) => key === 'huggingface')?.value)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    signal?.throwIfAborted()
    if (rowStart >= wanted) return
    const rowEnd = rowStart + Number(group.num_rows)
    const rows = await orDamaged(shown, () =>
      parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors, parsers, utf8: false }),
    )
    if (rows.length !== rowEnd - rowStart)
      throw damaged(shown, `${rows.length} of ${rowEnd - rowStart} rows of a group`)
    await to.writeRows(rows.length, i => withReadings(plain(rows[i]) as Record<string, unknown>, readings))
    rowStart = rowEnd
  }
}

/** Types that JSON lacks: long integers, bytes and arrays of numbers. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return plainInteger(value)
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return plainBytes(value)
  if (Array.isArray(value)) return value.map(plain)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plain)
  if (value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
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
