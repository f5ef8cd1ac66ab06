/** Splits the bytes of a file into rows while reading. The format decides where a row ends. */

/** A row as it lies in its file. */
export interface RawRow {
  readonly start: number
  readonly length: number
  /** Where it begins, from 1; of a JSON list, its number in the list. */
  readonly line: number
  /** Undefined where the row is longer than `maxRowBytes`. */
  readonly bytes: Uint8Array | undefined
}

/** Finds where rows end. Keeps its state between chunks. */
export interface RowBoundary {
  /** The place after the end of the row that `from` is in, or -1 where the chunk ends before it does. */
  next(chunk: Uint8Array, from: number): number
  /** Whether the rest of the file, after the last boundary, is a row. */
  readonly openEnded: boolean
  /** Lines a row takes: counted, or one each where a row is an element of a list. */
  readonly lines: 'counted' | 'one'
}

/** Longer rows are refused: reading them would block everything else. */
export const maxRowBytes = 16 * 2 ** 20

const newline = 10

export class RowSplitter {
  #pending: Uint8Array[] = []
  #pendingLength = 0
  /** Of the row that is pending. */
  #start: number
  #line: number
  #newlines = 0

  constructor(
    private readonly boundary: RowBoundary,
    { start = 0, line = 1 }: { start?: number; line?: number } = {},
  ) {
    this.#start = start
    this.#line = line
  }

  /** The rows that end in this chunk. */
  *push(chunk: Uint8Array): Generator<RawRow> {
    let from = 0
    for (let end = this.boundary.next(chunk, 0); end >= 0; end = this.boundary.next(chunk, from)) {
      this.#keep(chunk.subarray(from, end))
      yield this.#take()
      from = end
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from))
  }

  /** The row that the file ends with. */
  *end(): Generator<RawRow> {
    if (this.#pendingLength > 0 && this.boundary.openEnded) yield this.#take()
  }

  #keep(bytes: Uint8Array): void {
    this.#pendingLength += bytes.length
    if (this.boundary.lines === 'counted')
      for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) this.#newlines++
    if (this.#pendingLength <= maxRowBytes) this.#pending.push(bytes)
    else this.#pending = []
  }

  #take(): RawRow {
    const length = this.#pendingLength
    const [only] = this.#pending
    const bytes = length > maxRowBytes ? undefined : this.#pending.length === 1 ? only! : Buffer.concat(this.#pending)
    const row = { start: this.#start, length, line: this.#line, bytes }
    this.#start += length
    this.#line += this.boundary.lines === 'counted' ? this.#newlines : 1
    this.#newlines = 0
    this.#pending = []
    this.#pendingLength = 0
    return row
  }
}

/** Rows that are lines. */
export function lineBoundary(): RowBoundary {
  return {
    next: (chunk, from) => {
      const at = chunk.indexOf(newline, from)
      return at < 0 ? -1 : at + 1
    },
    openEnded: true,
    lines: 'counted',
  }
}
