/**
 * The numbers of all samples that filters and sorting read, as columns in pieces of 65,536 rows: a million samples are 50 MB. Texts stay on
 * the disk.
 */

const kinds = {
  iteration: Uint32Array,
  sample: Uint16Array,
  /** A hash of the prompt's id. */
  prompt: Uint32Array,
  reward: Float32Array,
  length: Uint32Array,
  promptLength: Uint32Array,
  kl: Float32Array,
  entropy: Float32Array,
  gap: Float32Array,
  finish: Uint8Array,
  /** A place in the list of reasons; 0: not dropped. */
  dropped: Uint8Array,
  /** 0: no, 1: yes, 2: its iteration has no batch yet. */
  trained: Uint8Array,
  /** Where its response lies among the texts to search, and how long it is. The prompt of a group lies before its first response. */
  foldAt: Float64Array,
  foldBytes: Uint32Array,
} as const

export type ColumnName = keyof typeof kinds
type Column = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array
export type Piece = Readonly<Record<ColumnName, Column>> & { readonly components: Map<string, Float32Array> }
export type NumberRow = Readonly<Record<ColumnName, number>> & {
  readonly components: Readonly<Record<string, number>>
}

const columnNames = Object.keys(kinds) as ColumnName[]
const pieceBits = 16
const pieceRows = 1 << pieceBits

export class SampleColumns {
  readonly pieces: Piece[] = []
  readonly componentNames: string[] = []
  #rows = 0

  get rows(): number {
    return this.#rows
  }

  add(row: NumberRow): number {
    const at = this.#rows++
    const place = at & (pieceRows - 1)
    const piece = this.#pieceOf(at)
    for (const name of columnNames) piece[name][place] = row[name]
    for (const name of this.componentNames) this.#component(piece, name)[place] = row.components[name] ?? Number.NaN
    for (const [name, value] of Object.entries(row.components)) {
      if (!this.componentNames.includes(name)) this.componentNames.push(name)
      this.#component(piece, name)[place] = value
    }
    return at
  }

  at(row: number, name: ColumnName): number {
    return this.pieces[row >> pieceBits]![name][row & (pieceRows - 1)]!
  }

  component(row: number, name: string): number {
    return this.pieces[row >> pieceBits]!.components.get(name)?.[row & (pieceRows - 1)] ?? Number.NaN
  }

  /** Forgets all rows from here on. */
  truncate(rows: number): void {
    this.#rows = Math.min(this.#rows, rows)
    this.pieces.length = Math.ceil(this.#rows / pieceRows)
  }

  /** The first row whose iteration is at least this; rows rise by iteration. */
  firstOf(iteration: number): number {
    let [low, high] = [0, this.#rows]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.at(middle, 'iteration') < iteration) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Bytes of some rows, column by column, and which components they have. */
  encode(from: number, to: number): { components: string[]; bytes: Buffer } {
    const parts: Buffer[] = []
    const components = [...this.componentNames]
    const part = (columnOf: (piece: Piece) => Column): void => {
      for (let row = from; row < to; ) {
        const end = Math.min(to, ((row >> pieceBits) + 1) << pieceBits)
        const column = columnOf(this.pieces[row >> pieceBits]!)
        const first = row & (pieceRows - 1)
        const cut = column.subarray(first, first + end - row)
        parts.push(Buffer.from(cut.buffer, cut.byteOffset, cut.byteLength))
        row = end
      }
    }
    for (const name of columnNames) part(piece => piece[name])
    for (const name of components) part(piece => this.#component(piece, name))
    return { components, bytes: Buffer.concat(parts) }
  }

  /** Adds rows that `encode` gave. */
  decode(rows: number, components: readonly string[], bytes: Uint8Array): void {
    let at = 0
    const start = this.#rows
    for (const name of components) if (!this.componentNames.includes(name)) this.componentNames.push(name)
    const part = (size: number, columnOf: (piece: Piece) => Column): void => {
      for (let row = start; row < start + rows; ) {
        const end = Math.min(start + rows, ((row >> pieceBits) + 1) << pieceBits)
        const column = columnOf(this.#pieceOf(row))
        const first = row & (pieceRows - 1)
        const target = new Uint8Array(column.buffer, first * size, (end - row) * size)
        target.set(bytes.subarray(at, at + target.length))
        at += target.length
        row = end
      }
    }
    for (const name of columnNames) part(kinds[name].BYTES_PER_ELEMENT, piece => piece[name])
    for (const name of components) part(4, piece => this.#component(piece, name))
    this.#rows += rows
  }

  static bytesOf(rows: number, components: number): number {
    const own = columnNames.reduce((sum, name) => sum + kinds[name].BYTES_PER_ELEMENT, 0)
    return rows * (own + 4 * components)
  }

  #pieceOf(row: number): Piece {
    const index = row >> pieceBits
    while (this.pieces.length <= index) {
      const made = Object.fromEntries(columnNames.map(name => [name, new kinds[name](pieceRows)]))
      this.pieces.push({ ...(made as Record<ColumnName, Column>), components: new Map() })
    }
    return this.pieces[index]!
  }

  #component(piece: Piece, name: string): Float32Array {
    const known = piece.components.get(name) ?? new Float32Array(pieceRows).fill(Number.NaN)
    piece.components.set(name, known)
    return known
  }
}

export { pieceBits, pieceRows }
