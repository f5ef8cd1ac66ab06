/** Bytes that arrive in chunks of any size and are taken in parts of a known size. */
export class ByteQueue {
  #chunks: Uint8Array[] = []
  #length = 0
  #position = 0
  #ended = false

  /** Bytes that were taken. */
  get position(): number {
    return this.#position
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#length += chunk.length
  }

  end(): void {
    this.#ended = true
  }

  /** The next bytes; yields while they have not arrived. An error where they never will. */
  *take(count: number): Generator<undefined, Uint8Array> {
    while (this.#length < count) {
      if (this.#ended) throw new Error('the data ends too early')
      yield undefined
    }
    const first = this.#chunks[0]
    const taken = first && first.length >= count ? first.subarray(0, count) : Buffer.concat(this.#chunks, count)
    for (let left = count; left > 0; ) {
      const chunk = this.#chunks[0]!
      if (chunk.length > left) this.#chunks[0] = chunk.subarray(left)
      else this.#chunks.shift()
      left -= Math.min(left, chunk.length)
    }
    this.#length -= count
    this.#position += count
    return taken
  }

  *isAtEnd(): Generator<undefined, boolean> {
    while (this.#length === 0) {
      if (this.#ended) return true
      yield undefined
    }
    return false
  }
}
