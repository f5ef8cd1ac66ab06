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

interface KnownColumns {
  /** Names that say what they are for; the first that is there is used. */
  readonly own: readonly string[]
  /** Names that are common for it. Two of them in one row are an error: the config has to say which one it is. */
  readonly common?: readonly string[]
}

/** What our fields are called where a config does not say. */
const fieldColumns = {
  messages: { own: ['messages', 'conversations', 'conversation'] },
  prompt: { own: ['prompt'], common: ['instruction', 'question', 'query', 'problem', 'input', 'inputs'] },
  completion: { own: ['completion'], common: ['response', 'output', 'answer', 'solution', 'targets'] },
  system: { own: ['system', 'system_prompt'] },
  text: { own: ['text'] },
  chosen: { own: ['chosen'] },
  rejected: { own: ['rejected'] },
  responses: { own: ['responses'] },
  rankings: { own: ['rankings', 'ranking', 'ranks'] },
  scores: { own: ['scores'] },
  margin: { own: ['margin'] },
  desirable: { own: ['desirable', 'label'] },
  label: { own: ['label', 'extra_info.label'] },
  target: {
    own: ['target', 'reference', 'reward_model.ground_truth', 'ground_truth', 'extra_info.reference'],
    common: ['answer', 'solution'],
  },
  tools: { own: ['tools'] },
} as const satisfies Record<string, KnownColumns>

/** Columns of an answer, where a row has one. */
export const answerColumns: readonly string[] = [...fieldColumns.completion.own, ...fieldColumns.completion.common]

type FieldName = keyof typeof fieldColumns
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
  /** Columns that were read, and as what. */
  readonly roles = new Map<string, FieldName>()

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
    const { own, common = [] }: KnownColumns = fieldColumns[name]
    const given = this.options.columns[name]
    for (const column of given === undefined ? own : [given]) {
      const value = lookUp(this.row, column)
      if (value !== undefined && value !== null) return { column, value }
    }
    const missing = { column: given ?? own[0]!, value: undefined }
    if (given !== undefined) return missing
    const found = common.filter(column => this.#isCommon(name, column))
    // Data sets of T5 have an input and a target.
    if (name === 'completion' && found.length === 0 && this.#has('input') && this.#has('target')) found.push('target')
    if (found.length > 1)
      throw new RowProblem(
        `${found.join(', ')}: each can be the ${name}; set columns to choose one, such as columns: {${name}: ${found[0]}}`,
      )
    return found.length === 0 ? missing : { column: found[0]!, value: this.row[found[0]!] }
  }

  #has(column: string): boolean {
    return Object.hasOwn(this.row, column) && this.row[column] !== null && this.row[column] !== undefined
  }

  #isCommon(name: FieldName, column: string): boolean {
    if (!this.#has(column)) return false
    // Alpaca has what an instruction is about in a column of its own.
    if (name === 'prompt' && column === 'input') return !this.#has('instruction')
    // An answer may also be a structure that no rule compares with.
    return name !== 'target' || isAnswer(this.row[column])
  }

  /** As `find`, where it has to be there. */
  need(name: FieldName): { column: string; value: unknown } {
    const found = this.find(name)
    if (found.value === undefined)
      throw new RowProblem(`${found.column}: missing; the row has ${Object.keys(this.row).join(', ') || 'no columns'}`)
    this.roles.set(found.column, name)
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

const isAnswer = (value: unknown): boolean =>
  ['string', 'number'].includes(typeof value) || (Array.isArray(value) && value.every(one => isAnswer(one)))

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
