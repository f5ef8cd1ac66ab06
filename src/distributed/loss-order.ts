/**
 * The order in which a loss is called for the micro-batches of several ranks: the first of each rank, then the second of each, and so
 * on. Which rank is faster then does not matter: what a loss adds up while it is called has the same bits every time.
 */
export class LossOrder {
  /** Ranks that may have another micro-batch, in their order. */
  private readonly active: number[]
  /** The part that is next, by its place in `active`. */
  private at = 0
  private readonly waiting = new Map<number, { resolve: () => void; reject: (error: unknown) => void }>()
  private failure: { cause: unknown } | undefined

  constructor(ranks: readonly number[]) {
    this.active = [...ranks]
  }

  /** Calls `work` when the micro-batches that come before have had theirs. */
  async turn<T>(rank: number, work: () => T): Promise<T> {
    if (this.failure) throw this.failure.cause
    if (this.active[this.at] !== rank)
      await new Promise<void>((resolve, reject) => this.waiting.set(rank, { resolve, reject }))
    const result = work()
    this.at = (this.at + 1) % this.active.length
    this.wake()
    return result
  }

  /** The rank has no more micro-batches. */
  leave(rank: number): void {
    const place = this.active.indexOf(rank)
    if (place === -1) return
    this.active.splice(place, 1)
    if (place < this.at) this.at--
    if (this.at >= this.active.length) this.at = 0
    this.wake()
  }

  /** No rank gets a turn after this. */
  fail(cause: unknown): void {
    this.failure ??= { cause }
    for (const { reject } of this.waiting.values()) reject(cause)
    this.waiting.clear()
  }

  private wake(): void {
    const next = this.active[this.at]
    if (next === undefined) return
    const waiter = this.waiting.get(next)
    this.waiting.delete(next)
    waiter?.resolve()
  }
}
