/**
 * Lossless JSON. Typed arrays keep their type and every bit, and numbers that JSON cannot represent (`NaN`, infinities, negative
 * zero) are restored. Each is an object with one `$` key:
 *
 * {"$float32": "AACAPw=="} base64, little endian {"$number": "-Infinity"}
 *
 * A key of the data that itself starts with `$` gets a second one, so that nothing can be mistaken.
 */
import { endianness } from 'node:os'

/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

const arrayKinds = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const

export type TypedArray = InstanceType<(typeof arrayKinds)[keyof typeof arrayKinds]>

/** JSON whose leaves may also be typed arrays. */
export type ExactJson =
  | null
  | boolean
  | number
  | string
  | TypedArray
  | readonly ExactJson[]
  | { readonly [key: string]: ExactJson | undefined }

/** @example exactStringify({ rewards: Float32Array.of(1), best: -Infinity }) */
export function exactStringify(value: ExactJson): string {
  return JSON.stringify(toJson(value))
}

export function exactParse(text: string): ExactJson {
  return fromJson(JSON.parse(text) as Json)
}

/** The value with its typed arrays and unusual numbers in words of JSON. */
function toJson(value: ExactJson): Json {
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { $number: Object.is(value, -0) ? '-0' : `${value}` }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(toJson)
  if (ArrayBuffer.isView(value)) return { [`$${kindOf(value as TypedArray)}`]: base64(value as TypedArray) }
  // fromEntries defines each key: one called __proto__ is a key like any other.
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, ExactJson | undefined>>)
      .filter((entry): entry is [string, ExactJson] => entry[1] !== undefined)
      .map(([key, field]) => [key.startsWith('$') ? `$${key}` : key, toJson(field)]),
  )
}

function fromJson(value: Json): ExactJson {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(fromJson)
  const entries = Object.entries(value as Readonly<Record<string, Json>>)
  const [key, word] = entries[0] ?? []
  if (entries.length === 1 && key?.startsWith('$') && !key.startsWith('$$') && typeof word === 'string')
    return key === '$number' ? Number(word) : typedArray(key.slice(1), word)
  return Object.fromEntries(
    entries.map(([name, field]) => [name.startsWith('$$') ? name.slice(1) : name, fromJson(field)]),
  )
}

function kindOf(array: TypedArray): string {
  for (const [kind, type] of Object.entries(arrayKinds)) if (array instanceof type) return kind
  throw new TypeError(
    `expected one of the arrays ${Object.keys(arrayKinds).join(', ')}, got ${Object.prototype.toString.call(array)}`,
  )
}

function base64(array: TypedArray): string {
  return littleEndian(Buffer.from(array.buffer, array.byteOffset, array.byteLength), array.BYTES_PER_ELEMENT).toString(
    'base64',
  )
}

function typedArray(kind: string, text: string): TypedArray {
  if (!Object.hasOwn(arrayKinds, kind)) throw new TypeError(`there is no array of ${kind}`)
  const type = arrayKinds[kind as keyof typeof arrayKinds]
  // A buffer of its own: Node's small buffers share one, at places where an array of wider elements may not begin.
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  littleEndian(Buffer.from(bytes.buffer), type.BYTES_PER_ELEMENT).copy(bytes)
  return new type(bytes.buffer)
}

/** The bytes as they are on most machines; on the others, with each element turned round. */
function littleEndian(bytes: Buffer, width: number): Buffer {
  if (endianness() === 'LE' || width === 1) return bytes
  const turned = Buffer.from(bytes)
  return width === 2 ? turned.swap16() : width === 4 ? turned.swap32() : turned.swap64()
}
