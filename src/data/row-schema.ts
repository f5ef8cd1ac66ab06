/** The columns of a dataset: given by the caller, or inferred. */
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { DataError } from './errors.js'
import type { DataRow } from './read-rows.js'

/** A zod schema, or a JSON Schema. */
export type RowSchema<Row = unknown> = z.ZodType<Row> | Readonly<Record<string, unknown>>

export function toZod<Row>(schema: RowSchema<Row>): z.ZodType<Row> {
  if (schema instanceof z.ZodType) return schema
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]) as z.ZodType<Row>
  } catch (cause) {
    throw new DataError(`row schema: not a JSON Schema that can be used (${(cause as Error).message})`, { cause })
  }
}

/** A row as its schema reads it, or what is wrong with it: the field, what is expected of it, and what to do. */
export function checkRow<Row>(schema: z.ZodType<Row>, row: DataRow): { row: Row } | { message: string } {
  const result = schema.safeParse(row)
  if (result.success) return { row: result.data }
  const columns = Object.keys(row)
  const messages = result.error.issues.map(issue => {
    const field = issue.path.join('.')
    const expected = issue.message.replace(/^Invalid input: /, '')
    if (issue.code === 'unrecognized_keys')
      return `${field === '' ? '' : `${field}: `}columns that are not in the schema: ${issue.keys.join(', ')}; add them to the schema, or remove them`
    const missing = issue.path.length === 1 && !(field in row)
    if (!missing) return `${field === '' ? 'the row' : field}: ${expected}; change the row or the schema`
    const hint = didYouMean(field, columns) || ` (its columns are: ${columns.join(', ') || 'none'})`
    return `${field}: missing${hint}; add it to the row, or make it optional in the schema`
  })
  return { message: messages.join('; ') }
}

export interface Column {
  readonly name: string
  /** Such as `string`, `number`, `string | null`, `{ role, content }[]`. */
  readonly type: string
  /** In how many rows it is. */
  readonly rows: number
}

/** The columns of rows as they are found, in the order they first appear. */
export class ColumnInference {
  readonly #types = new Map<string, { types: Set<string>; rows: number }>()
  #rows = 0

  add(row: DataRow): void {
    this.#rows++
    for (const [name, value] of Object.entries(row)) {
      const column = this.#types.get(name) ?? { types: new Set<string>(), rows: 0 }
      column.types.add(typeOf(value))
      column.rows++
      this.#types.set(name, column)
    }
  }

  get columns(): Column[] {
    return [...this.#types].map(([name, { types, rows }]) => ({ name, type: [...types].sort().join(' | '), rows }))
  }

  /** The columns for a person to read, and to write a schema by. */
  describe(): string {
    const { columns } = this
    const width = Math.max(0, ...columns.map(({ name }) => name.length))
    return columns
      .map(({ name, type, rows }) => {
        const optional = rows < this.#rows ? ` (in ${rows} of ${this.#rows} rows)` : ''
        return `  ${name.padEnd(width)}  ${type}${optional}`
      })
      .join('\n')
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) {
    const types = new Set(value.map(typeOf))
    if (types.size === 0) return '[]'
    return types.size === 1 ? `${[...types][0]}[]` : `(${[...types].sort().join(' | ')})[]`
  }
  if (typeof value === 'object') return `{ ${Object.keys(value).sort().join(', ')} }`
  return typeof value
}
