/** Columns of a record batch: values by row, as JSON has them. */
import { plainBytes, plainDate, plainInteger, plainTime } from '../plain-value.js'
import type { RecordBatch } from './buffers.js'
import type { ArrowField, ArrowType } from './schema.js'

/** The value of a row. */
export type Column = (row: number) => unknown

/** Entries of each dictionary, by its number. */
type Dictionaries = ReadonlyMap<number, readonly unknown[]>

/** Reads the columns of a batch in turn, as its buffers are stored. */
export class ColumnReader {
  #node = 0
  #buffer = 0
  #views = 0

  constructor(
    private readonly batch: RecordBatch,
    private readonly dictionaries: Dictionaries,
  ) {}

  column(field: ArrowField): Column {
    const { dictionary } = field
    if (!dictionary) {
      const column = this.#values(field.type, field.children)
      return field.extension === 'arrow.json' ? row => parsed(column(row)) : column
    }
    const index = this.#values(dictionary.index, [])
    const entries = this.dictionaries.get(dictionary.id)
    return row => {
      const place = index(row)
      if (place === null) return null
      const entry = entries?.[place as number]
      if (entry === undefined) throw new RangeError(`${field.name}: a place outside its dictionary`)
      return entry
    }
  }

  #values(type: ArrowType, children: readonly ArrowField[]): Column {
    const node = this.batch.nodes[this.#node++]
    if (!node) throw new RangeError('a record batch lacks a column')
    const [length, nulls] = node
    const isBounded = (row: number): boolean => row >= 0 && row < length
    if (type.kind === 'null') return () => null
    if (type.kind === 'union') return this.#union(type, children)
    if (type.kind === 'run-end-encoded') return this.#runs(children)
    const validity = this.#next()
    const read = this.#typed(type, children)
    const isValid = (row: number): boolean => ((validity[row >> 3] ?? fail()) & (1 << (row & 7))) !== 0
    return row => {
      if (!isBounded(row)) fail()
      return nulls > 0 && validity.length > 0 && !isValid(row) ? null : read(row)
    }
  }

  #typed(
    type: Exclude<ArrowType, { kind: 'null' | 'union' | 'run-end-encoded' }>,
    children: readonly ArrowField[],
  ): Column {
    switch (type.kind) {
      case 'bool': {
        const bits = this.#next()
        return row => ((bits[row >> 3] ?? fail()) & (1 << (row & 7))) !== 0
      }
      case 'int':
        return integers(this.#view(), type.bits, type.signed)
      case 'float':
        return floats(this.#view(), type.bits)
      case 'decimal': {
        const data = this.#view()
        return row => decimal(bigInteger(data, row * (type.bits / 8), type.bits / 8), type.scale)
      }
      case 'date': {
        const data = this.#view()
        return type.unit === 'day'
          ? row => plainDate(data.getInt32(row * 4, true))
          : row => plainTime(data.getBigInt64(row * 8, true), 1_000).slice(0, 10)
      }
      case 'timestamp': {
        const data = this.#view()
        return row => plainTime(data.getBigInt64(row * 8, true), type.unitsPerSecond)
      }
      case 'amount':
        return integers(this.#view(), type.bits, true)
      case 'interval':
        return intervals(this.#view(), type.unit)
      case 'text':
      case 'bytes': {
        const bytes = type.layout === 'views' ? this.#viewed() : this.#between(type.layout)
        return type.kind === 'text' ? row => utf8.decode(bytes(row)) : row => plainBytes(bytes(row))
      }
      case 'fixed-bytes': {
        const data = this.#next()
        return row => plainBytes(part(data, row * type.width, (row + 1) * type.width))
      }
      case 'list': {
        const bounds = this.#listBounds(type.layout)
        const element = this.column(only(children))
        return row => {
          const [from, to] = bounds(row)
          return values(element, from, to)
        }
      }
      case 'fixed-list': {
        const element = this.column(only(children))
        return row => values(element, row * type.size, (row + 1) * type.size)
      }
      case 'struct': {
        const columns = children.map(child => [child.name, this.column(child)] as const)
        return row => Object.fromEntries(columns.map(([name, column]) => [name, column(row)]))
      }
    }
  }

  #union(type: Extract<ArrowType, { kind: 'union' }>, children: readonly ArrowField[]): Column {
    const kinds = this.#next()
    const offsets = type.mode === 'dense' ? this.#view() : undefined
    const columns = children.map(child => this.column(child))
    return row => {
      const kind = kinds[row] ?? fail()
      const column = columns[type.ids.length > 0 ? type.ids.indexOf(kind) : kind] ?? fail()
      return column(offsets ? offsets.getInt32(row * 4, true) : row)
    }
  }

  #runs(children: readonly ArrowField[]): Column {
    const [ends, content] = children
    if (!ends || !content) return fail()
    const runs = this.batch.nodes[this.#node]?.[0] ?? 0
    const end = this.column(ends)
    const column = this.column(content)
    return row => {
      let low = 0
      for (let high = runs; low < high; ) {
        const middle = (low + high) >>> 1
        if ((end(middle) as number) <= row) low = middle + 1
        else high = middle
      }
      return column(low)
    }
  }

  #listBounds(layout: 'offsets' | 'large-offsets' | 'views' | 'large-views'): (row: number) => [number, number] {
    if (layout === 'offsets' || layout === 'large-offsets') return this.#bounds(layout)
    const bits = layout === 'views' ? 32 : 64
    const [starts, sizes] = [integers(this.#view(), bits, true), integers(this.#view(), bits, true)]
    return row => [starts(row) as number, (starts(row) as number) + (sizes(row) as number)]
  }

  #bounds(layout: 'offsets' | 'large-offsets'): (row: number) => [number, number] {
    const offset = integers(this.#view(), layout === 'offsets' ? 32 : 64, true)
    return row => [offset(row) as number, offset(row + 1) as number]
  }

  #between(layout: 'offsets' | 'large-offsets'): (row: number) => Uint8Array {
    const bounds = this.#bounds(layout)
    const data = this.#next()
    return row => part(data, ...bounds(row))
  }

  /** Up to 12 bytes are in the view itself; of more, it says in which buffer they are. */
  #viewed(): (row: number) => Uint8Array {
    const bytes = this.#next()
    const view = viewOf(bytes)
    const count = this.batch.viewBuffers[this.#views++] ?? 0
    const buffers = Array.from({ length: count }, () => this.#next())
    return row => {
      const at = row * 16
      const length = view.getInt32(at, true)
      if (length <= 12) return part(bytes, at + 4, at + 4 + length)
      const start = view.getInt32(at + 12, true)
      return part(buffers[view.getInt32(at + 8, true)] ?? fail(), start, start + length)
    }
  }

  #next(): Uint8Array {
    return this.batch.buffers[this.#buffer++] ?? fail()
  }

  #view(): DataView {
    return viewOf(this.#next())
  }
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function fail(): never {
  throw new RangeError('a value lies outside its buffer')
}

function part(bytes: Uint8Array, from: number, to: number): Uint8Array {
  if (from < 0 || to < from || to > bytes.length) fail()
  return bytes.subarray(from, to)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function only(children: readonly ArrowField[]): ArrowField {
  return children[0] ?? fail()
}

function values(column: Column, from: number, to: number): unknown[] {
  if (from < 0 || to < from) fail()
  return Array.from({ length: to - from }, (_, i) => column(from + i))
}

function integers(data: DataView, bits: number, signed: boolean): Column {
  switch (bits) {
    case 8:
      return signed ? row => data.getInt8(row) : row => data.getUint8(row)
    case 16:
      return signed ? row => data.getInt16(row * 2, true) : row => data.getUint16(row * 2, true)
    case 32:
      return signed ? row => data.getInt32(row * 4, true) : row => data.getUint32(row * 4, true)
    case 64:
      return signed
        ? row => plainInteger(data.getBigInt64(row * 8, true))
        : row => plainInteger(data.getBigUint64(row * 8, true))
    default:
      throw new Error(`integers of ${bits} bits are not known`)
  }
}

function floats(data: DataView, bits: 16 | 32 | 64): Column {
  if (bits === 64) return row => data.getFloat64(row * 8, true)
  return bits === 32 ? row => data.getFloat32(row * 4, true) : row => half(data.getUint16(row * 2, true))
}

function half(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023]
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25))
}

function bigInteger(data: DataView, at: number, bytes: number): bigint {
  let value = 0n
  for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(data.getUint8(at + i))
  return BigInt.asIntN(bytes * 8, value)
}

const decimal = (value: bigint, scale: number): number => Number(`${value}e${-scale}`)

/** Months; days and milliseconds; or months, days and nanoseconds. */
function intervals(data: DataView, unit: number): Column {
  if (unit === 0) return row => ({ months: data.getInt32(row * 4, true) })
  if (unit === 1) return row => ({ days: data.getInt32(row * 8, true), milliseconds: data.getInt32(row * 8 + 4, true) })
  return row => ({
    months: data.getInt32(row * 16, true),
    days: data.getInt32(row * 16 + 4, true),
    nanoseconds: plainInteger(data.getBigInt64(row * 16 + 8, true)),
  })
}

function parsed(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}
