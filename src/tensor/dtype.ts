import { ArgumentError } from './errors.js'

/** Element types, by libtorch's own numbering. */
const dtypeCodes = {
  uint8: 0,
  int8: 1,
  int16: 2,
  int32: 3,
  int64: 4,
  float16: 5,
  float32: 6,
  float64: 7,
  bool: 11,
  bfloat16: 15,
} as const

export type DType = keyof typeof dtypeCodes

/** `cpu`, `cuda` (the current one) or `cuda:1`. */
export type Device = 'cpu' | 'cuda' | `cuda:${number}`

const names = new Map<number, DType>(Object.entries(dtypeCodes).map(([name, code]) => [code, name as DType]))
const bytes: Record<DType, number> = {
  uint8: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  float16: 2,
  float32: 4,
  float64: 8,
  bool: 1,
  bfloat16: 2,
}

export function dtypeOf(code: number): DType {
  const name = names.get(code)
  if (!name) throw new ArgumentError(`an element type that is not supported (number ${code} of libtorch)`)
  return name
}

/** For showing: also a type that has no name here. */
export function dtypeName(code: number): string {
  return names.get(code) ?? `dtype ${code}`
}

export function dtypeBytes(dtype: DType): number {
  return bytes[dtype]
}

export function dtypeCode(dtype: DType): number {
  const code = typeof dtype === 'string' && Object.hasOwn(dtypeCodes, dtype) ? dtypeCodes[dtype] : undefined
  if (code === undefined)
    throw new ArgumentError(`unknown dtype ${shown(dtype)}; expected one of ${Object.keys(dtypeCodes).join(', ')}`)
  return code
}

/** libtorch's device type and index; index -1 is the current device. */
export function parseDevice(device: Device): { type: number; index: number } {
  if (device === 'cpu') return { type: 0, index: -1 }
  const match = typeof device === 'string' ? /^cuda(?::(\d{1,3}))?$/.exec(device) : null
  if (!match) throw new ArgumentError(`unknown device ${shown(device)}; expected cpu, cuda or cuda:N`)
  return { type: 1, index: match[1] === undefined ? -1 : Number(match[1]) }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : `of type ${value === null ? 'null' : typeof value}`
}

export function deviceName(type: number, index: number): Device {
  return type === 0 ? 'cpu' : `cuda:${Math.max(index, 0)}`
}

/** The typed array that holds a dtype's elements; the two 16-bit floats are their bits. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | BigInt64Array

export interface ArrayOf {
  uint8: Uint8Array
  int8: Int8Array
  int16: Int16Array
  int32: Int32Array
  int64: BigInt64Array
  float16: Uint16Array
  float32: Float32Array
  float64: Float64Array
  bool: Uint8Array
  bfloat16: Uint16Array
}

const arrays = {
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
  bfloat16: Uint16Array,
} as const

export function arrayConstructor(dtype: DType) {
  return arrays[dtype]
}

/** The dtype a typed array's elements have when nothing else is said. */
export function dtypeOfArray(array: TypedArray): DType {
  if (array instanceof Float32Array) return 'float32'
  if (array instanceof Float64Array) return 'float64'
  if (array instanceof Int32Array) return 'int32'
  if (array instanceof BigInt64Array) return 'int64'
  if (array instanceof Int8Array) return 'int8'
  if (array instanceof Int16Array) return 'int16'
  if (array instanceof Uint8Array) return 'uint8'
  if (array instanceof Uint16Array)
    throw new ArgumentError('a Uint16Array holds the bits of float16 or bfloat16: give { dtype }')
  throw new ArgumentError(`no dtype has the elements of this array (${Object.prototype.toString.call(array)})`)
}
