/** Blocks of the KV cache: which are free, and how many sequences hold each. Pure. */

/** Tokens of a block. The attention kernel depends on it. */
export const blockSize = 16

export const blocksFor = (tokens: number): number => Math.ceil(tokens / blockSize)

/** Most blocks of a sequence. One more than its tokens fill: samples copy the last block of their prompt. */
export const blocksOfSequence = (maxLength: number): number => blocksFor(maxLength) + 1

/** Tokens in blocks. */
interface BlockHolder {
  blocks: number[]
  /** How many of them are computed. */
  computed: number
}

export class BlockPool {
  private readonly holders: Int32Array
  private readonly free: number[]

  constructor(readonly size: number) {
    this.holders = new Int32Array(size)
    // `pop` takes from the end: the first blocks first.
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

  /** Whether the block of the next token is shared. */
  sharesNext({ blocks, computed }: BlockHolder): boolean {
    const block = blocks[Math.floor(computed / blockSize)]
    return block !== undefined && this.isShared(block)
  }

  /** Copies that block where it is shared: `copies` gets the pair of from and to. */
  copyOnWrite(of: BlockHolder, copies: number[]): void {
    if (!this.sharesNext(of)) return
    const at = Math.floor(of.computed / blockSize)
    const copy = this.take()
    copies.push(of.blocks[at]!, copy)
    this.release(of.blocks[at]!)
    of.blocks[at] = copy
  }

  /** Gets blocks for this number of tokens. */
  extend({ blocks }: BlockHolder, tokens: number): void {
    while (blocks.length < blocksFor(tokens)) blocks.push(this.take())
  }

  /** Returns all blocks: nothing is computed. */
  drop(of: BlockHolder): void {
    for (const block of of.blocks) this.release(block)
    of.blocks = []
    of.computed = 0
  }
}
