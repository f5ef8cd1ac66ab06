/** Blocks of the KV cache: which are free, and how many sequences hold each. Pure. */

/** Tokens of a block. The attention kernel is written for it. */
export const blockSize = 16

export const blocksFor = (tokens: number): number => Math.ceil(tokens / blockSize)

/** Blocks a sequence may hold. One more than its tokens fill: a block is copied when samples part from their prompt. */
export const blocksOfSequence = (maxLength: number): number => blocksFor(maxLength) + 1

export class BlockPool {
  private readonly holders: Int32Array
  private readonly free: number[]

  constructor(readonly size: number) {
    this.holders = new Int32Array(size)
    // Taken from the end: the first blocks first.
    this.free = Array.from({ length: size }, (_, i) => size - 1 - i)
  }

  get available(): number {
    return this.free.length
  }

  take(): number {
    const block = this.free.pop()
    if (block === undefined) throw new RangeError('no block is free')
    this.holders[block] = 1
    return block
  }

  hold(block: number): void {
    this.holders[block]!++
  }

  isShared(block: number): boolean {
    return this.holders[block]! > 1
  }

  release(block: number): void {
    if (this.holders[block]! < 1) throw new RangeError(`block ${block} is not held`)
    if (--this.holders[block]! === 0) this.free.push(block)
  }
}
