import { type DType, dtypeBytes } from '../dtype.js'
import { quote, SafetensorsError } from './error.js'
import { hasLoneSurrogate, parseStrictJson } from './strict-json.js'

/**
 * The format: 8 bytes with the header's length (little-endian), the header (a JSON object, padded with spaces), the data.
 * Offsets in the header count from the start of the data; the tensors must tile the data without gap or overlap.
 */
export const lengthBytes = 8
/** The limit of the reference implementation: real headers are well below 1 MB. */
export const maxHeaderBytes = 100_000_000
const metadataKey = '__metadata__'

/** What a file says about one of its tensors. */
export interface TensorInfo {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly bytes: number
}

interface TensorEntry extends TensorInfo {
  /** Where its bytes begin, counted from the start of the data. */
  readonly start: number
}

export type Metadata = Readonly<Record<string, string>>

export interface Header {
  /** In the order of their bytes in the file. */
  readonly entries: ReadonlyMap<string, TensorEntry>
  readonly metadata: Metadata
}

/**
 * In the order the reference implementation writes them: widest elements first, so that every tensor is aligned to its own
 * element size when the file is mapped into memory.
 */
const formatNames: readonly (readonly [string, DType])[] = [
  ['I64', 'int64'],
  ['F64', 'float64'],
  ['F32', 'float32'],
  ['I32', 'int32'],
  ['BF16', 'bfloat16'],
  ['F16', 'float16'],
  ['I16', 'int16'],
  ['I8', 'int8'],
  ['U8', 'uint8'],
  ['BOOL', 'bool'],
]
const dtypeOfFormatName = new Map(formatNames)
const rankOfDType = new Map(formatNames.map(([, dtype], rank) => [dtype, rank]))
const formatNameOfDType = new Map(formatNames.map(([name, dtype]) => [dtype, name]))

/** The header's length, from the first 8 bytes of a file of `fileBytes` bytes. */
export function parseHeaderLength(
  prefix: Uint8Array,
  { file, fileBytes }: { file: string; fileBytes: number },
): number {
  if (fileBytes < lengthBytes || prefix.length < lengthBytes) {
    throw new SafetensorsError(`has ${fileBytes} bytes, too few to be a safetensors file (truncated download?)`, {
      file,
    })
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true)
  if (length > BigInt(maxHeaderBytes)) {
    throw new SafetensorsError(
      `claims a header of ${length} bytes, more than the format's ${maxHeaderBytes}: not a safetensors file`,
      { file },
    )
  }
  if (length > BigInt(fileBytes - lengthBytes)) {
    throw new SafetensorsError(
      `claims a header of ${length} bytes but has only ${fileBytes - lengthBytes} after the length (truncated download?)`,
      { file },
    )
  }
  return Number(length)
}

/** Reads and checks a header; `dataBytes` is what the file has after it. Everything it returns is safe to rely on. */
export function parseHeader(bytes: Uint8Array, { file, dataBytes }: { file: string; dataBytes: number }): Header {
  if (bytes[0] !== 0x7b) throw new SafetensorsError('the header does not begin with "{"', { file })
  let json: unknown
  try {
    json = parseStrictJson(bytes)
  } catch (cause) {
    throw new SafetensorsError(`the header ${(cause as Error).message}`, { file, cause })
  }
  if (!isObject(json)) throw new SafetensorsError('the header is not a JSON object', { file })

  let metadata: Metadata = Object.create(null)
  const entries: [string, TensorEntry][] = []
  for (const [name, value] of Object.entries(json)) {
    if (name === metadataKey) metadata = parseMetadata(value, file)
    else entries.push([name, parseEntry(value, { file, tensor: name })])
  }
  entries.sort(([, a], [, b]) => a.start - b.start || a.bytes - b.bytes)
  requireTiling(entries, { file, dataBytes })
  return { entries: new Map(entries), metadata }
}

function parseMetadata(value: unknown, file: string): Metadata {
  if (!isObject(value)) throw new SafetensorsError(`${metadataKey} is not an object`, { file })
  // Without a prototype, so that a key such as "__proto__" is only a key.
  const metadata: Record<string, string> = Object.create(null)
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string')
      throw new SafetensorsError(`${metadataKey} has a ${quote(key)} that is not a string`, { file })
    metadata[key] = text
  }
  return metadata
}

function parseEntry(value: unknown, where: { file: string; tensor: string }): TensorEntry {
  if (!isObject(value)) throw new SafetensorsError('its entry in the header is not an object', where)
  const dtype = typeof value.dtype === 'string' ? dtypeOfFormatName.get(value.dtype) : undefined
  if (dtype === undefined) {
    const known = formatNames.map(([name]) => name).join(', ')
    throw new SafetensorsError(`dtype ${quote(value.dtype)} is not supported (supported: ${known})`, where)
  }
  const { shape, data_offsets: offsets } = value
  if (!Array.isArray(shape) || !shape.every(isCount)) {
    throw new SafetensorsError(`shape ${quote(shape)} is not a list of whole numbers of 0 or more`, where)
  }
  const bytes = countBytes(shape, dtype)
  if (bytes === undefined) throw new SafetensorsError(`shape ${quote(shape)} has too many elements`, where)
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    throw new SafetensorsError(`data_offsets ${quote(offsets)} is not a pair of whole numbers of 0 or more`, where)
  }
  const [start, end] = offsets as [number, number]
  if (end - start !== bytes) {
    throw new SafetensorsError(
      `shape ${quote(shape)} of ${value.dtype} takes ${bytes} bytes, but data_offsets ${quote(offsets)} spans ${end - start}`,
      where,
    )
  }
  return { dtype, shape, bytes, start }
}

function countBytes(shape: readonly number[], dtype: DType): number | undefined {
  let bytes = dtypeBytes(dtype)
  for (const size of shape) {
    bytes *= size
    // Past 2^53 the product is no longer exact; as in the reference implementation, a later 0 does not excuse it.
    if (!Number.isSafeInteger(bytes)) return undefined
  }
  return bytes
}

function requireTiling(
  entries: readonly (readonly [string, TensorEntry])[],
  { file, dataBytes }: { file: string; dataBytes: number },
): void {
  let covered = 0
  for (const [tensor, { start, bytes }] of entries) {
    const end = start + bytes
    if (end > dataBytes) {
      throw new SafetensorsError(
        `its bytes end at ${end}, but the file holds ${dataBytes} bytes of data (truncated download?)`,
        { file, tensor },
      )
    }
    if (start < covered)
      throw new SafetensorsError(`its bytes ${start}..${end} overlap those of another tensor`, { file, tensor })
    if (start > covered)
      throw new SafetensorsError(`bytes ${covered}..${start} before it belong to no tensor`, { file, tensor })
    covered = end
  }
  if (covered !== dataBytes) {
    throw new SafetensorsError(`the last ${dataBytes - covered} of ${dataBytes} bytes of data belong to no tensor`, {
      file,
    })
  }
}

/** The bytes before the data, and the order in which the tensors' bytes must follow. */
interface Layout<T> {
  readonly head: Uint8Array
  readonly order: readonly { readonly name: string; readonly tensor: T; readonly bytes: number }[]
  readonly dataBytes: number
}

/** Lays out a file exactly as the reference implementation does, which orders tensors by dtype and then by name. */
export function layOut<T extends { readonly dtype: DType; readonly shape: readonly number[] }>(
  tensors: Iterable<readonly [string, T]>,
  { file, metadata }: { file: string; metadata?: Metadata | undefined },
): Layout<T> {
  const order = [...tensors].map(([name, tensor]) => ({
    name,
    tensor,
    rank: rankOfDType.get(tensor.dtype)!,
    bytes: countBytes(tensor.shape, tensor.dtype)!,
    // Names sort by their UTF-8 bytes; JavaScript would sort them by UTF-16 units.
    sortKey: Buffer.from(name),
  }))
  order.sort((a, b) => a.rank - b.rank || Buffer.compare(a.sortKey, b.sortKey))

  const fields: string[] = []
  if (metadata !== undefined) {
    requireWritableMetadata(metadata, file)
    fields.push(`${JSON.stringify(metadataKey)}:${JSON.stringify(metadata)}`)
  }
  let end = 0
  for (const { name, tensor, bytes } of order) {
    if (name === metadataKey || hasLoneSurrogate(name)) {
      throw new SafetensorsError('a tensor cannot have this name in a safetensors file', { file, tensor: name })
    }
    const start = end
    end += bytes
    const entry = { dtype: formatNameOfDType.get(tensor.dtype), shape: tensor.shape, data_offsets: [start, end] }
    // Field by field: as keys of one object, names such as "7" would move to the front.
    fields.push(`${JSON.stringify(name)}:${JSON.stringify(entry)}`)
  }
  return { head: encodeHead(`{${fields.join(',')}}`, file), order, dataBytes: end }
}

function encodeHead(json: string, file: string): Uint8Array {
  const text = new TextEncoder().encode(json)
  const padded = Math.ceil(text.length / 8) * 8
  if (padded > maxHeaderBytes) {
    throw new SafetensorsError(`its header would have ${padded} bytes, more than the format's ${maxHeaderBytes}`, {
      file,
    })
  }
  const head = new Uint8Array(lengthBytes + padded).fill(0x20)
  new DataView(head.buffer).setBigUint64(0, BigInt(padded), true)
  head.set(text, lengthBytes)
  return head
}

function requireWritableMetadata(metadata: Metadata, file: string): void {
  for (const [key, text] of Object.entries(metadata)) {
    if (typeof text !== 'string' || hasLoneSurrogate(key) || hasLoneSurrogate(text)) {
      throw new SafetensorsError(`metadata ${quote(key)} is not text`, { file })
    }
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= 0
}
