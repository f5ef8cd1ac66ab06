/** Rows of a JSONL or JSON file, each with where it is. */
import { readFile } from 'node:fs/promises'
import { InputError } from '../errors/index.js'
import { numberedLines, parseJsonLine } from '../files/index.js'
import { DataError } from './errors.js'

export type DataRow = Readonly<Record<string, unknown>>

export interface LocatedRow {
  readonly row: DataRow
  /** `FILE:12`, or `FILE, row 3` where a file is one JSON list. */
  readonly where: string
}

export interface ReadOptions {
  readonly signal?: AbortSignal
  /** How many bad rows are listed; the rest are counted. Default 10. */
  readonly listed?: number
}

/** Collects what is wrong with rows, so that a person hears of all of it at once. */
export class BadRows {
  readonly #messages: string[] = []
  #count = 0

  constructor(
    private readonly file: string,
    private readonly listed = 10,
  ) {}

  add(where: string, message: string): void {
    this.#count++
    if (this.#messages.length < this.listed) this.#messages.push(`\n  ${where}: ${message}`)
  }

  throwIfAny(): void {
    if (this.#count === 0) return
    const what = this.#count === 1 ? 'a bad row' : `${this.#count} bad rows`
    const unlisted = this.#count - this.#messages.length
    throw new DataError(
      `${this.file}: ${what}${this.#messages.join('')}${unlisted > 0 ? `\n  and ${unlisted} more` : ''}`,
    )
  }
}

/** The rows of a file. What cannot be read as a row is added to `bad`; empty lines at the end of a file are no rows. */
export async function* readRows(file: string, bad: BadRows, options: ReadOptions = {}): AsyncGenerator<LocatedRow> {
  if (/\.json$/i.test(file)) {
    yield* listRows(file, bad)
    return
  }
  if (!/\.(jsonl|ndjson)$/i.test(file))
    throw new DataError(`${file}: expected a .jsonl or .json file; save the dataset as one row of JSON per line`)
  let empty: number[] = []
  for await (const { text, line } of numberedLines(file, options.signal ? { signal: options.signal } : {})) {
    if (text.trim() === '') {
      empty.push(line)
      continue
    }
    for (const skipped of empty) bad.add(`${file}:${skipped}`, 'an empty line between rows; remove it')
    empty = []
    const where = `${file}:${line}`
    try {
      const row = asRow(parseJsonLine(text))
      yield { row, where }
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(where, error.message)
    }
  }
}

async function* listRows(file: string, bad: BadRows): AsyncGenerator<LocatedRow> {
  let parsed: unknown
  try {
    parsed = JSON.parse((await readFile(file, 'utf8')).replace(/^\uFEFF/, ''))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw new DataError(code === 'ENOENT' ? `${file}: there is no such file` : `${file}: not JSON (${message})`, {
      cause,
    })
  }
  if (!Array.isArray(parsed))
    throw new DataError(`${file}: expected a list of rows; for one row per line call the file .jsonl`)
  for (const [i, value] of parsed.entries()) {
    const where = `${file}, row ${i + 1}`
    try {
      yield { row: asRow(value), where }
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(where, error.message)
    }
  }
}

function asRow(value: unknown): DataRow {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InputError(`expected an object of columns, got ${Array.isArray(value) ? 'a list' : typeof value}`)
  return value as DataRow
}
