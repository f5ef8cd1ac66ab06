/** The columns of an Arrow file. */
import type { FlatTable } from './flatbuffer.js'

type UnitsPerSecond = 1 | 1_000 | 1_000_000 | 1_000_000_000

export type ArrowType =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool' }
  | { readonly kind: 'struct' }
  | { readonly kind: 'run-end-encoded' }
  | { readonly kind: 'int'; readonly bits: number; readonly signed: boolean }
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  | { readonly kind: 'decimal'; readonly bits: number; readonly scale: number }
  | { readonly kind: 'date'; readonly unit: 'day' | 'millisecond' }
  | { readonly kind: 'timestamp'; readonly unitsPerSecond: UnitsPerSecond }
  /** Time of day, or a duration: a number of units. */
  | { readonly kind: 'amount'; readonly bits: 32 | 64 }
  | { readonly kind: 'interval'; readonly unit: number }
  | { readonly kind: 'text' | 'bytes'; readonly layout: 'offsets' | 'large-offsets' | 'views' }
  | { readonly kind: 'fixed-bytes'; readonly width: number }
  | { readonly kind: 'list'; readonly layout: 'offsets' | 'large-offsets' | 'views' | 'large-views' }
  | { readonly kind: 'fixed-list'; readonly size: number }
  | { readonly kind: 'union'; readonly mode: 'sparse' | 'dense'; readonly ids: readonly number[] }

export interface ArrowField {
  readonly name: string
  readonly type: ArrowType
  readonly children: readonly ArrowField[]
  /** Values are places in a dictionary of this number; `type` is that of its entries. */
  readonly dictionary?: { readonly id: number; readonly index: ArrowType }
  /** An extension of Arrow that says what the values mean, such as `arrow.json`. */
  readonly extension?: string | undefined
}

export interface ArrowSchema {
  readonly fields: readonly ArrowField[]
  readonly metadata: ReadonlyMap<string, string>
}

export function readSchema(schema: FlatTable): ArrowSchema {
  if (schema.short(0) !== 0) throw new Error('its numbers are big-endian, which is not supported')
  return { fields: schema.tables(1).map(readField), metadata: keyValues(schema.tables(2)) }
}

function readField(field: FlatTable): ArrowField {
  const type = readType(field.byte(2), field.table(3))
  const name = field.text(0) ?? ''
  const dictionary = field.table(4)
  const index = dictionary?.table(1)
  return {
    name,
    type,
    children: field.tables(5).map(readField),
    extension: keyValues(field.tables(6)).get('ARROW:extension:name'),
    ...(dictionary
      ? {
          dictionary: { id: dictionary.long(0), index: index ? intOf(index) : { kind: 'int', bits: 32, signed: true } },
        }
      : {}),
  }
}

const keyValues = (tables: readonly FlatTable[]): Map<string, string> =>
  new Map(tables.map(table => [table.text(0) ?? '', table.text(1) ?? '']))

const intOf = (type: FlatTable): ArrowType => ({ kind: 'int', bits: type.int(0), signed: type.byte(1) === 1 })

const units = [1, 1_000, 1_000_000, 1_000_000_000] as const

/** By the numbers that Arrow's `Schema.fbs` gives its types. */
function readType(number: number, type: FlatTable | undefined): ArrowType {
  if (!type) throw new Error('a column has no type')
  switch (number) {
    case 1:
      return { kind: 'null' }
    case 2:
      return intOf(type)
    case 3:
      return { kind: 'float', bits: ([16, 32, 64] as const)[type.short(0)]! }
    case 4:
      return { kind: 'bytes', layout: 'offsets' }
    case 5:
      return { kind: 'text', layout: 'offsets' }
    case 6:
      return { kind: 'bool' }
    case 7:
      return { kind: 'decimal', scale: type.int(1), bits: type.int(2, 128) }
    case 8:
      return { kind: 'date', unit: type.short(0, 1) === 0 ? 'day' : 'millisecond' }
    case 9:
      return { kind: 'amount', bits: type.int(1, 32) === 32 ? 32 : 64 }
    case 10:
      return { kind: 'timestamp', unitsPerSecond: units[type.short(0)]! }
    case 11:
      return { kind: 'interval', unit: type.short(0) }
    case 12:
      return { kind: 'list', layout: 'offsets' }
    case 13:
      return { kind: 'struct' }
    case 14:
      return { kind: 'union', mode: type.short(0) === 0 ? 'sparse' : 'dense', ids: type.ints(1) }
    case 15:
      return { kind: 'fixed-bytes', width: type.int(0) }
    case 16:
      return { kind: 'fixed-list', size: type.int(0) }
    // A map is a list of keys and values.
    case 17:
      return { kind: 'list', layout: 'offsets' }
    case 18:
      return { kind: 'amount', bits: 64 }
    case 19:
      return { kind: 'bytes', layout: 'large-offsets' }
    case 20:
      return { kind: 'text', layout: 'large-offsets' }
    case 21:
      return { kind: 'list', layout: 'large-offsets' }
    case 22:
      return { kind: 'run-end-encoded' }
    case 23:
      return { kind: 'bytes', layout: 'views' }
    case 24:
      return { kind: 'text', layout: 'views' }
    case 25:
      return { kind: 'list', layout: 'views' }
    case 26:
      return { kind: 'list', layout: 'large-views' }
    default:
      throw new Error(`a column has a type of number ${number}, which is not known`)
  }
}
