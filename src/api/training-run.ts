/** A training under way: what happens as it happens, and what comes of it. */
import type { Best, TrainingEvent } from '../train/index.js'

/** What a training came to. */
export interface TrainingResult {
  /** `stopped`: by the signal; the run can be resumed. */
  readonly outcome: 'finished' | 'stopped'
  /** Optimiser steps behind the weights. */
  readonly step: number
  /** The last value of each metric. */
  readonly metrics: Readonly<Record<string, number>>
  readonly best?: Best
  /** The run directory. */
  readonly directory: string
  /** Directories of the models that the run wrote; of adapters where it keeps adapters alone. A run that was stopped has no final one. */
  readonly models: TrainedModels
}

export interface TrainedModels {
  readonly final?: string
  /** Of the best evaluation; the final one where nothing is held out. */
  readonly best?: string
  /** Of a critic. */
  readonly value?: string
  /** The moving average of the policy. */
  readonly ema?: string
}

/** What happens in a run, its end included. */
export type RunEvent = TrainingEvent | { readonly kind: 'end'; readonly result: TrainingResult }

/** How many events a run keeps for readers that come late or are slow. */
const keptEvents = 10_000

/**
 * The promise of a result, and an async iterable of events beside it. Each reader begins with the oldest event that was kept (the
 * last 10,000) and may leave at any time: the run goes on. A run that fails rejects the promise and ends the iteration with the error.
 *
 * @example
 * async function watch(run: TrainingRun): Promise<void> {
 *   for await (const event of run) if (event.kind === 'step') console.log(event.step, event.metrics)
 *   const { metrics } = await run
 * }
 */
export class TrainingRun implements PromiseLike<TrainingResult>, AsyncIterable<RunEvent> {
  readonly #result: Promise<TrainingResult>
  #events: RunEvent[] = []
  /** Events that are no longer kept. */
  #dropped = 0
  #state: 'running' | 'ended' | 'failed' = 'running'
  #wake: (() => void)[] = []

  /** Starts the work. Nothing of it happens before the caller can read. */
  constructor(work: (emit: (event: RunEvent) => void) => Promise<TrainingResult>) {
    this.#result = this.#follow(work)
  }

  async #follow(work: (emit: (event: RunEvent) => void) => Promise<TrainingResult>): Promise<TrainingResult> {
    await Promise.resolve()
    try {
      const result = await work(event => this.#emit(event))
      this.#emit({ kind: 'end', result })
      this.#end('ended')
      return result
    } catch (error) {
      this.#end('failed')
      throw error
    }
  }

  #emit(event: RunEvent): void {
    this.#events.push(event)
    // Not one by one: moving all of them for each would cost more than it frees.
    if (this.#events.length >= 2 * keptEvents) {
      this.#events.splice(0, keptEvents)
      this.#dropped += keptEvents
    }
    this.#wakeAll()
  }

  #end(state: 'ended' | 'failed'): void {
    this.#state = state
    this.#wakeAll()
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void> {
    // This reader is told of a failure; prevent an unhandled rejection.
    this.#result.catch(() => {})
    for (let next = 0; ; next++) {
      next = Math.max(next, this.#dropped + this.#events.length - keptEvents)
      while (next >= this.#dropped + this.#events.length) {
        if (this.#state === 'ended') return
        // Throws what the run failed with.
        if (this.#state === 'failed') await this.#result
        await new Promise<void>(resolve => this.#wake.push(resolve))
      }
      yield this.#events[next - this.#dropped]!
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: `await run` gives the result
  then<A = TrainingResult, B = never>(
    onResult?: ((result: TrainingResult) => A | PromiseLike<A>) | null,
    // biome-ignore lint/suspicious/noExplicitAny: as in Promise, so that handlers may name a type
    onError?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(onResult, onError)
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Promise
  catch<B = never>(onError?: ((error: any) => B | PromiseLike<B>) | null): Promise<TrainingResult | B> {
    return this.#result.catch(onError)
  }

  finally(onEnd?: (() => void) | null): Promise<TrainingResult> {
    return this.#result.finally(onEnd)
  }
}
