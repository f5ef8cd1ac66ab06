/** Rows of a file, each with where it is. */
import { type Problem, ProblemList, rowProblem } from '../errors/index.js'
import { DataError } from './errors.js'
import { RowFile } from './files/row-file.js'
import type { DataRow, RowFormat } from './files/row-format.js'

export type { DataRow } from './files/row-format.js'

export interface LocatedRow {
  readonly row: DataRow
  /** `FILE:12`, or `FILE, row 3` where a file is one JSON list. */
  readonly where: string
  /** `cells`: every value is text. Default `typed`. */
  readonly values?: RowFormat['values']
}

export interface ReadOptions {
  readonly signal?: AbortSignal
  /** How many bad rows are listed; the rest are counted. Default 10. */
  readonly listed?: number
}

/** Bad rows that a program is told of one by one. */
const mostProblems = 100

/** Collects problems of rows, to report all of them at once. */
export class BadRows {
  readonly #list: ProblemList
  readonly #problems: Problem[] = []
  readonly #files = new Set<string>()
  readonly #places = new Set<string>()

  constructor(
    private readonly file: string,
    listed = 10,
  ) {
    this.#list = new ProblemList(listed)
  }

  get count(): number {
    return this.#list.count
  }

  /** `file`: what the row is of, where rows of several are collected. */
  add(where: string, message: string, file = this.file): void {
    // A file that is read twice, as data and as held-out data, has each bad row once.
    if (this.#places.has(where)) return
    this.#places.add(where)
    this.#files.add(file)
    this.#list.add(where, message)
    if (this.#problems.length < mostProblems) this.#problems.push(rowProblem(where, message))
  }

  throwIfAny(): void {
    if (this.count > 0) throw this.error()
  }

  /** `remedy`: a line that says what can be done about them all. */
  error(remedy = ''): DataError {
    const { count, lines } = this.#list
    const what = count === 1 ? 'a bad row' : `${count.toLocaleString('en')} bad rows`
    const text = [`${[...this.#files].join(' and ')}: ${what}`, ...lines, ...(remedy === '' ? [] : [remedy])].join('\n')
    return new DataError(text, { problems: this.#problems })
  }
}

/** The rows of a file. What cannot be read as a row is added to `bad`; empty lines at the end of a file are no rows. */
export async function* readRows(file: string, bad: BadRows, options: ReadOptions = {}): AsyncGenerator<LocatedRow> {
  const opened = await RowFile.open(file)
  try {
    for await (const batch of opened.scan(options)) {
      for (const { where, parsed } of batch) {
        const row = parsed.kind === 'row' ? asRow(parsed.value, 'prompt') : parsed
        if ('message' in row) bad.add(where, String(row.message))
        else yield { row: row.row, where, values: opened.values }
      }
    }
  } finally {
    await opened.close()
  }
}

/** A value as a row; a bare text is the one column it is told to be. */
export function asRow(value: unknown, bare: string | undefined): { row: DataRow } | { message: string } {
  if (typeof value === 'string' && bare !== undefined) return { row: { [bare]: value } }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { row: value as DataRow }
  const got = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
  return { message: `expected an object of columns, got ${got}` }
}
