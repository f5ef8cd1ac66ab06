/** The fields of a row by what they are for, whatever its columns are called. */
import { didYouMean } from '../../errors/index.js'
import { DataError } from '../errors.js'
import type { DataRow } from '../files/row-format.js'

/** What is wrong with a row: `field: reason; what to do`. */
export class RowProblem extends Error {
  override name = 'RowProblem'
  constructor(
    message: string,
    readonly reason = 'format',
  ) {
    super(message)
  }
}

/** What our fields are called where a config does not say, in order. */
export const fieldColumns = {
  messages: ['messages', 'conversations', 'conversation'],
  prompt: ['prompt', 'instruction', 'input'],
  completion: ['completion', 'response', 'output'],
  text: ['text'],
  chosen: ['chosen'],
  rejected: ['rejected'],
  responses: ['responses'],
  rankings: ['rankings', 'ranking', 'ranks'],
  scores: ['scores'],
  margin: ['margin'],
  desirable: ['desirable', 'label'],
  label: ['label', 'extra_info.label'],
  target: ['target', 'reference', 'reward_model.ground_truth', 'ground_truth', 'extra_info.reference'],
  tools: ['tools'],
} as const satisfies Record<string, readonly string[]>

/** Columns of an answer, where a row has one. */
export const answerColumns: readonly string[] = fieldColumns.completion

export type FieldName = keyof typeof fieldColumns
const fieldNames = Object.keys(fieldColumns) as FieldName[]

/** Names on the left of a mapping must be ours; nothing would read others. */
export function checkColumns(columns: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(columns)) {
    if (fieldNames.includes(name as FieldName)) continue
    // A reference is a model: what an answer is compared with is a target.
    const meant = name === 'reference' ? '; did you mean target?' : didYouMean(name, fieldNames)
    throw new DataError(`columns.${name}: there is no such field${meant || `; there are ${fieldNames.join(', ')}`}`)
  }
}

export interface FieldOptions {
  /** Our names to theirs. */
  readonly columns: Readonly<Record<string, string>>
  /** `cells`: values are text, and lists, numbers and booleans are JSON in them. */
  readonly values: 'typed' | 'cells'
}

export class RowFields {
  constructor(
    readonly row: DataRow,
    readonly options: FieldOptions,
  ) {}

  /** Whether the config names the columns, so that others are not guessed at. */
  get mapped(): readonly string[] {
    return Object.keys(this.options.columns)
  }

  has(name: FieldName): boolean {
    return this.find(name).value !== undefined
  }

  /** A column and its value, which is undefined where there is none; null counts as none. */
  find(name: FieldName): { column: string; value: unknown } {
    const given = this.options.columns[name]
    const candidates: readonly string[] = given === undefined ? fieldColumns[name] : [given]
    for (const column of candidates) {
      const value = lookUp(this.row, column)
      if (value !== undefined && value !== null) return { column, value }
    }
    return { column: candidates[0]!, value: undefined }
  }

  /** As `find`, where it has to be there. */
  need(name: FieldName): { column: string; value: unknown } {
    const found = this.find(name)
    if (found.value === undefined)
      throw new RowProblem(`${found.column}: missing; the row has ${Object.keys(this.row).join(', ') || 'no columns'}`)
    return found
  }

  text(name: FieldName): string {
    const { column, value } = this.need(name)
    if (typeof value !== 'string') throw expected(column, 'a text', value)
    return value
  }

  list(name: FieldName): { column: string; value: unknown[] } {
    const { column, value } = this.need(name)
    const list = this.#fromCell(value)
    if (!Array.isArray(list)) throw expected(column, 'a list', value)
    return { column, value: list }
  }

  numbers(name: FieldName): { column: string; value: number[] } {
    const { column, value } = this.list(name)
    const wrong = value.findIndex(one => typeof one !== 'number' || !Number.isFinite(one))
    if (wrong >= 0) throw expected(`${column}.${wrong}`, 'a number', value[wrong])
    return { column, value: value as number[] }
  }

  number(name: FieldName): number {
    const { column, value } = this.need(name)
    const number = this.#fromCell(value)
    if (typeof number !== 'number' || !Number.isFinite(number)) throw expected(column, 'a number', value)
    return number
  }

  boolean(name: FieldName): boolean {
    const { column, value } = this.need(name)
    const boolean = typeof value === 'string' ? this.#fromCell(value.toLowerCase()) : value
    if (typeof boolean !== 'boolean') throw expected(column, 'true or false', value)
    return boolean
  }

  /** A text as it is; in a cell, a list of messages or other objects as JSON. */
  textOrList(name: FieldName): { column: string; value: unknown } {
    const { column, value } = this.need(name)
    if (this.options.values === 'cells' && typeof value === 'string' && /^\s*\[\s*\{/.test(value)) {
      const list = this.#fromCell(value)
      if (Array.isArray(list)) return { column, value: list }
    }
    return { column, value }
  }

  #fromCell(value: unknown): unknown {
    if (this.options.values !== 'cells' || typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  }
}

export function expected(field: string, what: string, got: unknown): RowProblem {
  return new RowProblem(`${field}: expected ${what}, got ${kindOf(got)}`)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'string') return value.length > 40 ? 'a text' : JSON.stringify(value)
  return typeof value === 'object' ? 'an object' : `the ${typeof value} ${String(value)}`
}

/** A column of that very name, else the way through objects that its dots are. */
export function lookUp(row: DataRow, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name]
  let value: unknown = row
  for (const key of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}
