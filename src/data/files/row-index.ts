/**
 * Where the rows of a file are: 12 bytes a row, so that a file of any size can be read in any order. Memory is taken in pieces,
 * so that no row waits for the rest to be copied.
 */
export interface RowPlace {
  readonly start: number
  /** In bytes. */
  readonly length: number
  /** In the file, from 1. */
  readonly line: number
}

export class RowIndex {
  readonly #starts = new GrowingList(Float64Array)
  readonly #lengths = new GrowingList(Uint32Array)
  /** Rows whose line is not the one after the last row's, with that line. Most files have few. */
  readonly #jumpRows = new GrowingList(Uint32Array)
  readonly #jumpLines = new GrowingList(Float64Array)
  #line = 0

  get size(): number {
    return this.#starts.length
  }

  add({ start, length, line }: RowPlace): void {
    if (line !== this.#line + 1) {
      this.#jumpRows.push(this.size)
      this.#jumpLines.push(line)
    }
    this.#line = line
    this.#starts.push(start)
    this.#lengths.push(length)
  }

  at(row: number): RowPlace {
    return { start: this.#starts.at(row), length: this.#lengths.at(row), line: this.#lineOf(row) }
  }

  lengthOf(row: number): number {
    return this.#lengths.at(row)
  }

  #lineOf(row: number): number {
    const jump = lastAtMost(this.#jumpRows, row)
    return jump < 0 ? row + 1 : this.#jumpLines.at(jump) + row - this.#jumpRows.at(jump)
  }
}

/** The last place of a sorted list that holds at most `value`, or -1. */
export function lastAtMost(list: { readonly length: number; at(i: number): number }, value: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list.at(middle) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

type Piece = Float64Array | Uint32Array

const pieceSize = 1 << 14

/** A typed array that grows a piece at a time. */
export class GrowingList {
  readonly #pieces: Piece[] = []
  #length = 0

  constructor(private readonly Type: new (length: number) => Piece) {}

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    const offset = this.#length % pieceSize
    if (offset === 0) this.#pieces.push(new this.Type(pieceSize))
    this.#pieces[this.#pieces.length - 1]![offset] = value
    this.#length++
  }

  at(i: number): number {
    return this.#pieces[Math.floor(i / pieceSize)]![i % pieceSize]!
  }
}
