/** Blocks of the KV cache: which are free, how many sequences hold each, and what sessions keep between two requests. Pure. */
import type { MediaItem } from '../../sequence/index.js'

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

/** Tokens with keys and values, and the images and videos among them. */
export interface SessionTokens {
  readonly ids: Int32Array
  readonly media: readonly MediaItem[]
}

interface KeptSession extends SessionTokens {
  readonly blocks: number[]
}

export class BlockPool {
  private readonly holders: Int32Array
  private readonly free: number[]
  /** The oldest first. Their blocks count as available, and are taken when no other is free. */
  private readonly kept = new Map<string, KeptSession>()
  private keptBlocks = 0

  constructor(readonly size: number) {
    this.holders = new Int32Array(size)
    // `pop` takes from the end: the first blocks first.
    this.free = Array.from({ length: size }, (_, i) => size - 1 - i)
  }

  get available(): number {
    return this.free.length + this.keptBlocks
  }

  take(): number {
    if (this.free.length === 0) for (const oldest of this.kept.keys()) if (this.forget(oldest) > 0) break
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

  /** Keeps the tokens of a sequence for its session's next request. The sequence has no blocks afterwards. */
  keep(session: string, of: BlockHolder, tokens: SessionTokens): void {
    this.forget(session)
    const blocks = of.blocks.splice(0, blocksFor(tokens.ids.length))
    this.drop(of)
    if (blocks.length === 0 || blocks.some(block => this.isShared(block))) {
      for (const block of blocks) this.release(block)
      return
    }
    this.kept.set(session, { ...tokens, blocks })
    this.keptBlocks += blocks.length
  }

  /** What a session kept. The caller holds its blocks from now on. */
  claim(session: string): KeptSession | undefined {
    const kept = this.kept.get(session)
    if (!kept) return undefined
    this.kept.delete(session)
    this.keptBlocks -= kept.blocks.length
    return kept
  }

  /** Frees what a session kept; returns the number of blocks. */
  forget(session: string): number {
    const blocks = this.claim(session)?.blocks ?? []
    for (const block of blocks) this.release(block)
    return blocks.length
  }

  forgetAll(): void {
    for (const session of [...this.kept.keys()]) this.forget(session)
  }
}
