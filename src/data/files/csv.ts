/**
 * CSV as RFC 4180 has it. Written here because the libraries read a file from its beginning: rows have to be found by their
 * bytes, so that one of them can be read again alone. A quote inside a cell that does not begin with one is a character.
 */
import { DataError } from '../errors.js'
import type { ParsedRow, RowFormat } from './row-format.js'
import type { RowBoundary } from './row-splitter.js'

const quote = 0x22
const newline = 0x0a

class RecordBoundary implements RowBoundary {
  readonly openEnded = true
  readonly lines = 'counted'
  #state: 'start' | 'plain' | 'quoted' | 'closing' = 'start'

  constructor(private readonly separator: number) {}

  get insideQuotes(): boolean {
    return this.#state === 'quoted'
  }

  next(chunk: Uint8Array, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i]!
      if (this.#state === 'quoted') {
        if (byte === quote) this.#state = 'closing'
      } else if (byte === quote && this.#state !== 'plain')
        // At the start of a cell it opens; after one that closed, the two are one character of it.
        this.#state = 'quoted'
      else if (byte === newline) {
        this.#state = 'start'
        return i + 1
      } else this.#state = byte === this.separator ? 'start' : 'plain'
    }
    return -1
  }
}

/** Cells of a record, with or without the line end behind it; or what is wrong with it. */
export function csvCells(record: string, separator = ','): string[] | string {
  const text = record.replace(/\r?\n$/, '')
  const cells: string[] = []
  for (let at = 0; ; ) {
    let cell = ''
    if (text[at] === '"') {
      for (at++; ; ) {
        const end = text.indexOf('"', at)
        if (end < 0)
          return `cell ${cells.length + 1}: a quote is opened and not closed; double the quotes inside a cell`
        cell += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        cell += '"'
        at++
      }
      if (at < text.length && text[at] !== separator)
        return `cell ${cells.length + 1}: text after a closing quote; double the quotes inside a cell`
    } else {
      const end = text.indexOf(separator, at)
      cell = text.slice(at, end < 0 ? text.length : end)
      at += cell.length
    }
    cells.push(cell)
    if (at >= text.length) return cells
    at++
    if (at === text.length) return [...cells, '']
  }
}

/** The first record names the columns. */
export function csv(file: string, separator = ','): RowFormat {
  const boundary = new RecordBoundary(separator.charCodeAt(0))
  let header: string[] | undefined
  return {
    boundary,
    values: 'cells',
    named: 'line',
    parse: (text, line): ParsedRow => {
      if (header === undefined) {
        header = readHeader(text, separator, `${file}:${line}`)
        return { kind: 'none' }
      }
      if (text.trim() === '' && header.length > 1) return { kind: 'blank' }
      const cells = csvCells(text, separator)
      if (typeof cells === 'string') return { kind: 'bad', reason: 'csv', message: cells }
      if (cells.length !== header.length) {
        const message = `${cells.length} cells, but the header has ${header.length} (${header.join(', ')}); quote cells that contain a "${separator}"`
        return { kind: 'bad', reason: 'csv', message }
      }
      return { kind: 'row', value: Object.fromEntries(header.map((name, i) => [name, cells[i]!])) }
    },
    atEnd: () => (boundary.insideQuotes ? 'a quote is opened and not closed before the file ends' : undefined),
  }
}

function readHeader(text: string, separator: string, where: string): string[] {
  const cells = csvCells(text, separator)
  if (typeof cells === 'string') throw new DataError(`${where}: ${cells}`)
  const names = cells.map(name => name.trim())
  const wrong = names.findIndex((name, i) => name === '' || names.indexOf(name) !== i)
  if (wrong >= 0)
    throw new DataError(
      `${where}: column ${wrong + 1}: ${names[wrong] === '' ? 'has no name' : `is called ${names[wrong]} like another`}; the first line names the columns, each once`,
    )
  return names
}
