/** Messages between ranks as bytes: a small JSON header, and typed arrays as they are. */

const kinds = { Int32Array, Float32Array, Float64Array, Uint8Array } as const
type ArrayKind = keyof typeof kinds
export type WireArray = Int32Array | Float32Array | Float64Array | Uint8Array

/** What a message carries. The body is JSON; numbers of tokens go into arrays. */
export interface Part {
  readonly body: unknown
  readonly arrays: readonly WireArray[]
}

export interface Frame extends Part {
  /** Of the call that it belongs to. */
  readonly id: number
  /** `call` opens an exchange, `part` goes on with it in both directions, `done` and `failed` end it; `abort` asks for its end. */
  readonly kind: 'call' | 'part' | 'done' | 'failed' | 'abort' | 'beat'
  /** Of a call: what is asked for. */
  readonly op?: string
}

interface Header {
  readonly id: number
  readonly kind: Frame['kind']
  readonly op?: string
  readonly body: unknown
  readonly arrays: readonly (readonly [ArrayKind, number])[]
}

const largestHeader = 1 << 28

function kindOf(array: WireArray): ArrayKind {
  const name = Object.keys(kinds).find(kind => array instanceof kinds[kind as ArrayKind])
  if (!name) throw new TypeError('a message carries Int32Array, Float32Array, Float64Array and Uint8Array')
  return name as ArrayKind
}

/** The pieces to write one after another; arrays are not copied. */
export function encodeFrame({ id, kind, op, body, arrays }: Frame): Uint8Array[] {
  const header: Header = {
    ...{ id, kind, body },
    ...(op !== undefined && { op }),
    arrays: arrays.map(array => [kindOf(array), array.length] as const),
  }
  const text = Buffer.from(JSON.stringify(header), 'utf8')
  const size = Buffer.alloc(4)
  size.writeUInt32LE(text.length)
  const bytes = arrays.map(array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
  return [Buffer.concat([size, text]), ...bytes.filter(({ length }) => length > 0)]
}

/** Puts frames together from the chunks of a stream. */
export class FrameReader {
  private chunks: Uint8Array[] = []
  private held = 0
  private header: Header | undefined

  constructor(private readonly onFrame: (frame: Frame) => void) {}

  push(chunk: Uint8Array): void {
    this.chunks.push(chunk)
    this.held += chunk.length
    while (this.step());
  }

  /** Whether there was enough for one more part of a frame. */
  private step(): boolean {
    if (!this.header) {
      if (this.held < 4) return false
      const size = Buffer.from(this.peek(4)).readUInt32LE()
      if (size > largestHeader) throw new RangeError(`a message with a header of ${size} bytes`)
      if (this.held < 4 + size) return false
      this.header = JSON.parse(Buffer.from(this.take(4 + size)).toString('utf8', 4)) as Header
    }
    const { header } = this
    const sizes = header.arrays.map(([kind, length]) => kinds[kind].BYTES_PER_ELEMENT * length)
    if (this.held < sizes.reduce((sum, size) => sum + size, 0)) return false
    const arrays = header.arrays.map(([kind], i) => {
      const bytes = this.take(sizes[i]!)
      return new kinds[kind](bytes.buffer as ArrayBuffer)
    })
    this.header = undefined
    const { id, kind, op, body } = header
    this.onFrame({ id, kind, body, arrays, ...(op !== undefined && { op }) })
    return true
  }

  private peek(count: number): Uint8Array {
    const [first] = this.chunks
    if (first && first.length >= count) return first.subarray(0, count)
    return Buffer.concat(this.chunks, this.held).subarray(0, count)
  }

  /** A copy in memory of its own, so that a view of any element type fits. */
  private take(count: number): Uint8Array {
    const taken = new Uint8Array(count)
    let at = 0
    while (at < count) {
      const chunk = this.chunks[0]!
      const part = chunk.subarray(0, count - at)
      taken.set(part, at)
      at += part.length
      if (part.length === chunk.length) this.chunks.shift()
      else this.chunks[0] = chunk.subarray(part.length)
    }
    this.held -= count
    return taken
  }
}
