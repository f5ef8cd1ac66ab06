/** The head of a GGUF file: metadata, and where each tensor lies. All of it is checked against the size of the file. */
import type { Cursor } from './cursor.js'
import { GgufError } from './errors.js'
import { bytesOf, type TensorType, tensorTypeOf, tensorTypes, typeName } from './tensor-types.js'

export type MetadataValue = number | boolean | string | readonly number[] | readonly boolean[] | readonly string[]
export type Metadata = ReadonlyMap<string, MetadataValue>

export interface TensorInfo {
  readonly type: TensorType
  /** As PyTorch has it: rows first. The file lists the sizes the other way round. */
  readonly shape: readonly number[]
  /** From the beginning of the file. */
  readonly position: number
  readonly bytes: number
}

export interface Header {
  readonly metadata: Metadata
  readonly tensors: ReadonlyMap<string, TensorInfo>
}

/** Names and keys are short; a longer one is damage. */
const longestName = 65_535
const mostDimensions = 4

interface ScalarKind {
  readonly bytes: number
  readonly read: (cursor: Cursor) => number
}

/** By the number of a value type in the file. */
const scalars: Readonly<Record<number, ScalarKind>> = {
  0: { bytes: 1, read: cursor => cursor.u8() },
  1: { bytes: 1, read: cursor => cursor.i8() },
  2: { bytes: 2, read: cursor => cursor.u16() },
  3: { bytes: 2, read: cursor => cursor.i16() },
  4: { bytes: 4, read: cursor => cursor.u32() },
  5: { bytes: 4, read: cursor => cursor.i32() },
  6: { bytes: 4, read: cursor => cursor.f32() },
  10: { bytes: 8, read: cursor => cursor.u64() },
  11: { bytes: 8, read: cursor => cursor.i64() },
  12: { bytes: 8, read: cursor => cursor.f64() },
}
const boolType = 7
const stringType = 8
const arrayType = 9

export async function readHeader(cursor: Cursor): Promise<Header> {
  const { path } = cursor
  if (cursor.fileBytes < 24) throw new GgufError(`${path} is not a GGUF file: it has ${cursor.fileBytes} bytes`)
  await cursor.fill(24, 'the first bytes')
  const magic = String.fromCharCode(cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8())
  if (magic !== 'GGUF')
    throw new GgufError(`${path} is not a GGUF file: it begins with ${JSON.stringify(magic)} instead of "GGUF"`)
  const version = cursor.u32()
  if (version !== 2 && version !== 3) throw new GgufError(`${path}: ${versionProblem(version)}`)
  const tensorCount = cursor.u64()
  const keyCount = cursor.u64()
  // A tensor takes at least 24 bytes of the head (lengths, type, offset), a key at least 13.
  if (tensorCount * 24 + keyCount * 13 > cursor.bytesLeft)
    throw new GgufError(
      `${path} says that it has ${tensorCount} tensors and ${keyCount} keys; that does not fit into its ${cursor.fileBytes} bytes`,
    )
  const metadata = await readMetadata(cursor, keyCount)
  const listed = await readTensorList(cursor, tensorCount)
  return { metadata, tensors: placeTensors(cursor, listed, alignmentOf(path, metadata)) }
}

function versionProblem(version: number): string {
  if (version === 1) return 'GGUF version 1 is not supported; convert the model again with a current llama.cpp'
  const swapped = ((version & 0xff) << 24) | ((version & 0xff00) << 8) | ((version >>> 8) & 0xff00) | (version >>> 24)
  if (swapped === 2 || swapped === 3) return 'big-endian GGUF files are not supported'
  return `GGUF version ${version} is not known; 2 and 3 are`
}

async function readName(cursor: Cursor, what: string): Promise<string> {
  const name = await cursor.string(what)
  if (name === '' || name.length > longestName)
    throw new GgufError(`${cursor.path}: ${what} has ${name.length} characters; expected 1 to ${longestName}`)
  return name
}

async function readMetadata(cursor: Cursor, count: number): Promise<Map<string, MetadataValue>> {
  const metadata = new Map<string, MetadataValue>()
  for (let i = 0; i < count; i++) {
    const key = await readName(cursor, `the name of key ${i}`)
    if (metadata.has(key)) throw new GgufError(`${cursor.path}: the key ${quoted(key)} is there twice`)
    const what = `the value of ${quoted(key)}`
    await cursor.fill(4, what)
    metadata.set(key, await readValue(cursor, cursor.u32(), what))
  }
  return metadata
}

async function readValue(cursor: Cursor, type: number, what: string): Promise<MetadataValue> {
  if (type !== arrayType) return (await readValues(cursor, { type, count: 1, what }))[0]!
  await cursor.fill(12, what)
  const itemType = cursor.u32()
  const count = cursor.u64()
  if (itemType === arrayType) throw new GgufError(`${cursor.path}: ${what} is a list of lists, which is not supported`)
  return readValues(cursor, { type: itemType, count, what })
}

async function readValues(
  cursor: Cursor,
  { type, count, what }: { type: number; count: number; what: string },
): Promise<number[] | boolean[] | string[]> {
  const smallest = type === stringType ? 8 : type === boolType ? 1 : scalars[type]?.bytes
  if (smallest === undefined) throw new GgufError(`${cursor.path}: ${what} has the unknown value type ${type}`)
  if (count * smallest > cursor.bytesLeft)
    throw new GgufError(
      `${cursor.path} ends inside ${what}: ${count} items do not fit into the ${cursor.bytesLeft} bytes left. Is the download complete?`,
    )
  if (type === stringType) {
    const texts: string[] = []
    for (let i = 0; i < count; i++) texts.push(await cursor.string(what))
    return texts
  }
  if (type === boolType)
    return (await readNumbers(cursor, { kind: scalars[0]!, count, what })).map(value => value !== 0)
  return readNumbers(cursor, { kind: scalars[type]!, count, what })
}

async function readNumbers(
  cursor: Cursor,
  { kind, count, what }: { kind: ScalarKind; count: number; what: string },
): Promise<number[]> {
  const numbers: number[] = []
  for (let i = 0; i < count; i++) {
    const waiting = cursor.fill(kind.bytes, what)
    if (waiting) await waiting
    numbers.push(kind.read(cursor))
  }
  return numbers
}

type Listed = Map<string, { type: TensorType; shape: number[]; offset: number; bytes: number }>

async function readTensorList(cursor: Cursor, count: number): Promise<Listed> {
  const listed: Listed = new Map()
  for (let i = 0; i < count; i++) {
    const name = await readName(cursor, `the name of tensor ${i}`)
    const what = `tensor ${quoted(name)}`
    const fail = (problem: string): never => {
      throw new GgufError(`${cursor.path}: ${what} ${problem}`)
    }
    if (listed.has(name)) fail('is listed twice')
    await cursor.fill(4, what)
    const dimensions = cursor.u32()
    if (dimensions < 1 || dimensions > mostDimensions)
      fail(`has ${dimensions} dimensions; expected 1 to ${mostDimensions}`)
    await cursor.fill(dimensions * 8 + 12, what)
    const sizes = Array.from({ length: dimensions }, () => cursor.u64())
    const count = sizes.reduce((product, size) => product * size, 1)
    if (sizes.some(size => size === 0) || !Number.isSafeInteger(count))
      fail(`has the sizes ${sizes.join(' x ')}, which no file can hold`)
    const typeId = cursor.u32()
    const type = tensorTypeOf(typeId)
    const offset = cursor.u64()
    if (type === undefined)
      return fail(`has the type ${typeName(typeId)}; supported are ${Object.keys(tensorTypes).join(', ')}`)
    if (sizes[0]! % tensorTypes[type].block !== 0)
      fail(
        `has rows of ${sizes[0]} numbers, which is not a multiple of the ${tensorTypes[type].block} of a ${type} block`,
      )
    listed.set(name, { type, shape: sizes.reverse(), offset, bytes: bytesOf(type, count) })
  }
  return listed
}

function alignmentOf(path: string, metadata: Metadata): number {
  const alignment = metadata.get('general.alignment') ?? 32
  if (typeof alignment !== 'number' || alignment < 1 || alignment > 2 ** 20 || (alignment & (alignment - 1)) !== 0)
    throw new GgufError(`${path}: general.alignment should be a power of two, got ${JSON.stringify(alignment)}`)
  return alignment
}

function placeTensors(cursor: Cursor, listed: Listed, alignment: number): Map<string, TensorInfo> {
  const start = Math.ceil(cursor.position / alignment) * alignment
  const placed = new Map<string, TensorInfo>()
  for (const [name, { type, shape, offset, bytes }] of listed) {
    const position = start + offset
    if (offset % alignment !== 0)
      throw new GgufError(`${cursor.path}: tensor ${quoted(name)} begins at ${offset}, no multiple of ${alignment}`)
    if (!(position + bytes <= cursor.fileBytes))
      throw new GgufError(
        `${cursor.path}: tensor ${quoted(name)} ends at byte ${position + bytes}, and the file at ${cursor.fileBytes}. Is the download complete?`,
      )
    placed.set(name, { type, shape, position, bytes })
  }
  return placed
}

/** A name of the file, in a message. */
export const quoted = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}...` : name)
