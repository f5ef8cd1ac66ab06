/** Row ids from the contents, so that a row keeps its id when others are added, moved or saved in another format. */
import { createHash } from 'node:crypto'
import type { DataRow } from './files/row-format.js'
import { RowProblem } from './formats/fields.js'

/** Limit of nesting, below the stack limit. */
const maxDepth = 200

export interface RowHash {
  /** 16 hexadecimal digits. */
  readonly hex: string
  /** The first 52 bits. */
  readonly number: number
  /** A number in [0, 1) of the other bits; the same row always has the same. */
  readonly share: number
}

/** A {@link RowProblem} where the row nests too deep to be gone through. */
export function hashRow(row: DataRow): RowHash {
  const digest = createHash('sha256').update(canonical(row)).digest()
  return {
    hex: digest.toString('hex', 0, 8),
    number: digest.readUIntBE(0, 6) * 16 + (digest[6]! >> 4),
    share: digest.readUInt32BE(8) / 2 ** 32,
  }
}

/**
 * A text that only equal values share: keys sorted, texts prefixed by their length instead of escaped (twice as fast). Keys with
 * a null value are left out, because a table has null where a JSON line has no key.
 */
function canonical(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `s${value.length}:${value}`
  if (typeof value !== 'object' || value === null) return `${String(value)};`
  if (depth === maxDepth) throw new RowProblem(`the row is nested deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) return `[${value.map(one => canonical(one, depth + 1)).join('')}]`
  let text = '{'
  for (const key of Object.keys(value).sort()) {
    const field = (value as Record<string, unknown>)[key]
    if (field !== null && field !== undefined) text += canonical(key) + canonical(field, depth + 1)
  }
  return `${text}}`
}

const tableCount = 1024
const firstSize = 64

/**
 * Counts repeated rows, in at most 16 bytes per row. Many small tables instead of a large one, so that growing one takes no
 * noticeable time.
 */
export class RepeatCounter {
  readonly #tables = Array.from({ length: tableCount }, () => ({ slots: new Float64Array(firstSize), used: 0 }))
  /** How often, of those that repeat. */
  readonly #again = new Map<number, number>()

  /** 1 for a row that is new, 2 for the second time, and so on. `hash` is an integer below 2^53. */
  count(hash: number): number {
    const table = this.#tables[hash % tableCount]!
    // Zero stands for an empty slot.
    if (!insert(table.slots, hash + 1)) {
      const times = (this.#again.get(hash) ?? 1) + 1
      this.#again.set(hash, times)
      return times
    }
    table.used++
    if (table.used * 4 > table.slots.length * 3) {
      const larger = new Float64Array(table.slots.length * 2)
      for (const value of table.slots) if (value !== 0) insert(larger, value)
      table.slots = larger
    }
    return 1
  }
}

/** Returns whether it is new. */
function insert(slots: Float64Array, value: number): boolean {
  const mask = slots.length - 1
  for (let at = Math.floor(value / tableCount) & mask; ; at = (at + 1) & mask) {
    if (slots[at] === value) return false
    if (slots[at] === 0) {
      slots[at] = value
      return true
    }
  }
}
