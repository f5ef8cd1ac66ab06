/**
 * Tables of FlatBuffers, which Arrow describes its data with. Only what Arrow needs; `DataView` refuses to read outside the buffer.
 */
export class FlatTable {
  readonly #fields: number
  readonly #size: number

  constructor(
    readonly view: DataView,
    private readonly at: number,
  ) {
    this.#fields = at - view.getInt32(at, true)
    this.#size = view.getUint16(this.#fields, true)
  }

  /** The table that a buffer begins with. */
  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return new FlatTable(view, view.getUint32(0, true))
  }

  byte(field: number, missing = 0): number {
    const at = this.#place(field)
    return at === 0 ? missing : this.view.getUint8(at)
  }

  short(field: number, missing = 0): number {
    const at = this.#place(field)
    return at === 0 ? missing : this.view.getInt16(at, true)
  }

  int(field: number, missing = 0): number {
    const at = this.#place(field)
    return at === 0 ? missing : this.view.getInt32(at, true)
  }

  /** A 64-bit integer that has to be a size or an offset. */
  long(field: number): number {
    const at = this.#place(field)
    return at === 0 ? 0 : size(this.view, at)
  }

  table(field: number): FlatTable | undefined {
    const at = this.#place(field)
    return at === 0 ? undefined : new FlatTable(this.view, this.#follow(at))
  }

  text(field: number): string | undefined {
    const at = this.#place(field)
    if (at === 0) return undefined
    const start = this.#follow(at)
    const length = this.view.getUint32(start, true)
    if (start + 4 + length > this.view.byteLength) throw new RangeError('a text outside its buffer')
    return Buffer.from(this.view.buffer, this.view.byteOffset + start + 4, length).toString('utf8')
  }

  tables(field: number): FlatTable[] {
    return this.#elements(field, 4, at => new FlatTable(this.view, this.#follow(at)))
  }

  ints(field: number): number[] {
    return this.#elements(field, 4, at => this.view.getInt32(at, true))
  }

  longs(field: number): number[] {
    return this.#elements(field, 8, at => size(this.view, at))
  }

  /** Structures of two 64-bit integers. */
  pairs(field: number): (readonly [number, number])[] {
    return this.#elements(field, 16, at => [size(this.view, at), size(this.view, at + 8)] as const)
  }

  /** Structures of a 64-bit, a 32-bit and a 64-bit integer, of which the first is an offset: where the messages of a file are. */
  offsets(field: number): number[] {
    return this.#elements(field, 24, at => size(this.view, at))
  }

  #elements<T>(field: number, bytes: number, read: (at: number) => T): T[] {
    const at = this.#place(field)
    if (at === 0) return []
    const start = this.#follow(at)
    const length = this.view.getUint32(start, true)
    if (start + 4 + length * bytes > this.view.byteLength) throw new RangeError('a list outside its buffer')
    return Array.from({ length }, (_, i) => read(start + 4 + i * bytes))
  }

  /** Where a field is; 0 where it is left out. */
  #place(field: number): number {
    const entry = 4 + 2 * field
    if (entry >= this.#size) return 0
    const offset = this.view.getUint16(this.#fields + entry, true)
    return offset === 0 ? 0 : this.at + offset
  }

  #follow(at: number): number {
    return at + this.view.getUint32(at, true)
  }
}

function size(view: DataView, at: number): number {
  const value = Number(view.getBigInt64(at, true))
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is no size`)
  return value
}
