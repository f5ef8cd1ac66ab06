/** The buffers of a record batch, unpacked where they are compressed. */
import { ZstdDecoder } from '../zstd.js'
import type { FlatTable } from './flatbuffer.js'
import { unpackLz4 } from './lz4.js'

/** A part of the rows: how many, and the buffers of every column in turn. */
export interface RecordBatch {
  readonly length: number
  /** Length and number of nulls, of every column and what is in it. */
  readonly nodes: readonly (readonly [length: number, nulls: number])[]
  readonly buffers: readonly Uint8Array[]
  /** How many buffers of data each column of views has. */
  readonly viewBuffers: readonly number[]
}

/** A batch is unpacked in memory. */
export const maxBatchBytes = 2 ** 30

export async function readBatch(batch: FlatTable, body: Uint8Array): Promise<RecordBatch> {
  const compression = batch.table(3)
  const codec = compression && (['lz4', 'zstd'] as const)[compression.byte(0)]
  if (compression && codec === undefined) throw new Error('its compression is not known')
  const buffers: Uint8Array[] = []
  let total = 0
  for (const [offset, length] of batch.pairs(2)) {
    if (offset + length > body.length) throw new Error('a buffer lies outside its record batch')
    const bytes = body.subarray(offset, offset + length)
    const size = codec ? unpackedSize(bytes) : length
    total += size
    if (total > maxBatchBytes)
      throw new Error(`a record batch of more than ${maxBatchBytes / 2 ** 20} MiB; write smaller batches`)
    buffers.push(codec && length > 0 ? await unpacked(codec, bytes, size) : bytes)
  }
  return { length: batch.long(0), nodes: batch.pairs(1), buffers, viewBuffers: batch.longs(4) }
}

/** -1 stands for a buffer that is not compressed after all. */
function unpackedSize(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0, true))
  if (size < -1) throw new Error('a buffer has no size')
  return size === -1 ? bytes.length - 8 : size
}

async function unpacked(codec: 'lz4' | 'zstd', bytes: Uint8Array, size: number): Promise<Uint8Array> {
  const packed = bytes.subarray(8)
  const isPlain = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true) === -1n
  if (isPlain || size === 0) return packed.subarray(0, size)
  return codec === 'lz4' ? unpackLz4(packed, size, turn) : unpackZstd(packed, size)
}

async function unpackZstd(packed: Uint8Array, size: number): Promise<Uint8Array> {
  const decoder = await ZstdDecoder.create()
  const output = new Uint8Array(size)
  let written = 0
  for (const part of decoder.push(packed)) {
    if (written + part.length > size) throw new Error('a buffer unpacks to more than its size')
    output.set(part, written)
    written += part.length
    await turn()
  }
  decoder.end()
  if (written !== size) throw new Error(`a buffer unpacks to ${written} bytes, not ${size}`)
  return output
}

/** Yields to the event loop. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
