/** LZ4 frames, as Arrow compresses buffers. Written here because libraries decode single blocks, and these refer to each other. */

/** The content of a frame, of a known size, a block at a time: `done` is called after each. */
export async function unpackLz4(input: Uint8Array, size: number, done: () => Promise<void>): Promise<Uint8Array> {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength)
  if (view.getUint32(0, true) !== 0x184d2204) throw new Error('a buffer is not LZ4')
  const flags = view.getUint8(4)
  const [hasBlockSums, hasSize, hasDictionary] = [(flags & 16) !== 0, (flags & 8) !== 0, (flags & 1) !== 0]
  if (hasDictionary) throw new Error('a buffer needs an LZ4 dictionary')
  const output = new Uint8Array(size)
  let written = 0
  // Magic, flags and block size, the size of the content, a checksum of the header.
  for (let at = 6 + (hasSize ? 8 : 0) + 1; ; ) {
    const head = view.getUint32(at, true)
    at += 4
    if (head === 0) break
    const length = head & 0x7fffffff
    if (at + length > input.length) throw new Error('a buffer ends too early')
    const block = input.subarray(at, at + length)
    if (head >>> 31 === 1) {
      if (written + length > size) throw tooLong()
      output.set(block, written)
      written += length
    } else written = unpackBlock(block, output, written)
    at += length + (hasBlockSums ? 4 : 0)
    await done()
  }
  if (written !== size) throw new Error(`a buffer unpacks to ${written} bytes, not ${size}`)
  return output
}

const tooLong = () => new Error('a buffer unpacks to more than its size')

/** Blocks refer to what earlier ones wrote. */
function unpackBlock(block: Uint8Array, output: Uint8Array, from: number): number {
  let to = from
  const lengthOf = (start: number, base: number): { length: number; next: number } => {
    let [length, at] = [base, start]
    if (base === 15)
      for (let byte = 255; byte === 255; at++) {
        if (at >= block.length) throw new Error('a buffer ends too early')
        byte = block[at]!
        length += byte
      }
    return { length, next: at }
  }
  for (let at = 0; at < block.length; ) {
    const token = block[at]!
    const literal = lengthOf(at + 1, token >> 4)
    at = literal.next + literal.length
    if (at > block.length) throw new Error('a buffer ends too early')
    if (to + literal.length > output.length) throw tooLong()
    output.set(block.subarray(literal.next, at), to)
    to += literal.length
    // The last sequence has no match.
    if (at === block.length) return to
    if (at + 2 > block.length) throw new Error('a buffer ends too early')
    const distance = block[at]! | (block[at + 1]! << 8)
    if (distance === 0 || distance > to) throw new Error('a buffer is damaged')
    const match = lengthOf(at + 2, token & 15)
    at = match.next
    const end = to + match.length + 4
    if (end > output.length) throw tooLong()
    // Where they overlap, the copy repeats itself.
    if (distance >= end - to) output.copyWithin(to, to - distance, end - distance)
    else for (let i = to; i < end; i++) output[i] = output[i - distance]!
    to = end
  }
  return to
}
