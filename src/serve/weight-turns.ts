/**
 * An engine samples from one set of weights at a time: the model's own, or with one of the loaded adapters. Requests for the set
 * that is in use go ahead together; the first for another set makes all that come after it wait, until those under way have ended
 * and it is that set's turn. So no set waits for ever, and none is changed under a request.
 */
import type { Adapter } from '../model/index.js'
import { unknownModel } from './errors.js'

export interface WeightSet {
  /** What requests call it. */
  readonly name: string
  /** Undefined: the model's own weights. */
  readonly adapter: Adapter | undefined
  /** Where the adapter was read from. */
  readonly source: string | undefined
}

interface Waiting {
  set: WeightSet
  admit: () => void
  fail: (error: unknown) => void
}

export class WeightTurns {
  private current: WeightSet | undefined
  private inside = 0
  private held = false
  private exchanging = false
  private readonly queue: Waiting[] = []
  private readonly whenEmpty: (() => void)[] = []
  /** Sets that are no longer to be had, until nothing uses them. */
  private readonly retired = new Set<WeightSet>()
  private readonly gone = new WeakSet<WeightSet>()

  constructor(
    private readonly base: WeightSet,
    /** Makes the engine sample from a set; nothing is under way. */
    private readonly exchange: (set: WeightSet) => Promise<void>,
  ) {
    this.current = base
  }

  /** Resolves when it is the set's turn, with what must be called when the work is done. A signal ends the waiting. */
  async enter(set: WeightSet, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    // It was taken back between the request's arrival and this.
    if (this.gone.has(set)) throw unknownModel(set.name)
    if (this.canEnter(set)) this.inside++
    else await this.wait(set, signal)
    let left = false
    return () => {
      if (left) return
      left = true
      this.inside--
      this.advance()
    }
  }

  /** No task may enter any more; see `release`. */
  hold(): void {
    this.held = true
  }

  release(): void {
    this.held = false
    this.advance()
  }

  /** Resolves when no task is inside. */
  async empty(): Promise<void> {
    while (this.inside > 0 || this.exchanging) await new Promise<void>(resolve => this.whenEmpty.push(resolve))
  }

  /** Requests that use it finish with it; then it is disposed. The caller must not give it to new requests. */
  retire(set: WeightSet): void {
    this.retired.add(set)
    this.advance()
  }

  private canEnter(set: WeightSet): boolean {
    return !this.held && !this.exchanging && this.queue.length === 0 && set === this.current
  }

  private wait(set: WeightSet, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.queue.splice(this.queue.indexOf(waiting), 1)
        reject(signal.reason)
        this.advance()
      }
      const waiting: Waiting = {
        set,
        admit: () => {
          signal.removeEventListener('abort', stop)
          this.inside++
          resolve()
        },
        fail: error => {
          signal.removeEventListener('abort', stop)
          reject(error)
        },
      }
      signal.addEventListener('abort', stop)
      this.queue.push(waiting)
      this.advance()
    })
  }

  private advance(): void {
    if (this.exchanging) return
    this.disposeRetired()
    if (!this.held) while (this.queue[0] && this.queue[0].set === this.current) this.queue.shift()!.admit()
    if (this.inside > 0) return
    const next = this.held ? undefined : this.queue[0]?.set
    if (next) void this.change(next)
    else if (this.current && this.retired.has(this.current) && this.queue.length === 0) void this.change(this.base)
    else for (const wake of this.whenEmpty.splice(0)) wake()
  }

  private async change(set: WeightSet): Promise<void> {
    this.exchanging = true
    try {
      await this.exchange(set)
      this.current = set
    } catch (error) {
      // What the engine has now is not known: the next one asks for its set again.
      this.current = undefined
      for (const waiting of this.take(set)) waiting.fail(error)
    }
    this.exchanging = false
    if (!this.held && this.current === set) for (const waiting of this.take(set)) waiting.admit()
    this.advance()
  }

  /** Takes everyone who waits for a set, wherever they stand. */
  private take(set: WeightSet): Waiting[] {
    const found = this.queue.filter(waiting => waiting.set === set)
    const others = this.queue.filter(waiting => waiting.set !== set)
    this.queue.splice(0, this.queue.length, ...others)
    return found
  }

  private disposeRetired(): void {
    for (const set of this.retired) {
      if (set === this.current || this.queue.some(waiting => waiting.set === set)) continue
      this.retired.delete(set)
      this.gone.add(set)
      set.adapter?.dispose()
    }
  }
}
