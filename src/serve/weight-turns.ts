/**
 * An engine samples from one set of weights at a time: the model's own, or one with a loaded adapter. Requests for the current set run
 * together. The first request for another set makes all later ones wait, until the running ones have ended and the set was changed. So no
 * set waits forever, and no set changes under a running request.
 */
import type { Adapter } from '../model/index.js'
import { unknownModel } from './errors.js'

export interface WeightSet {
  /** Its name in requests. */
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
  /** Unloaded sets that requests still use. */
  private readonly retired = new Set<WeightSet>()
  private readonly gone = new WeakSet<WeightSet>()

  constructor(
    private readonly base: WeightSet,
    /** Makes the engine sample from a set. Called while no request runs. */
    private readonly exchange: (set: WeightSet) => Promise<void>,
  ) {
    this.current = base
  }

  /** Resolves when it is the set's turn; the caller calls the result when its work is done. The signal ends the wait. */
  async enter(set: WeightSet, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    // It was unloaded after the request arrived.
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
      // The engine's weights are unknown now: the next request sets them again.
      this.current = undefined
      for (const waiting of this.take(set)) waiting.fail(error)
    }
    this.exchanging = false
    if (!this.held && this.current === set) for (const waiting of this.take(set)) waiting.admit()
    this.advance()
  }

  /** Removes all requests for a set from the queue. */
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
