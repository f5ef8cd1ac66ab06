/**
 * The result of `generate`: reads requests from their source as there is room, and keeps outcomes until they are read. Neither a long
 * source nor a slow reader fills the memory. For every engine that takes single requests.
 */
import type { GenerationRequest, Outcome } from './generator.js'
import { EngineError } from './remote/errors.js'

export interface OutcomeStreamOptions {
  requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>
  /** Takes a request; returns a function that aborts it. `onOutcome` is called for each sample, after this returns. */
  submit: (request: GenerationRequest, onOutcome: (outcome: Outcome) => void) => () => void
  /** Most running samples, and most outcomes that wait for their reader, before a request is read. */
  room: { samples: number; unread: number }
  /** The engine sleeps: the stream ends with an error, because no outcome would come. */
  asleep?: boolean
  signal?: AbortSignal | undefined
}

type Source = Iterator<GenerationRequest> | AsyncIterator<GenerationRequest>
type Read = IteratorResult<Outcome, undefined>
const done: Read = { value: undefined, done: true }

export class OutcomeStream implements AsyncIterableIterator<Outcome, undefined> {
  private readonly source: Source
  /** `open`: requests are read. `sealed`: no more requests. `over`: no more outcomes. */
  private state: 'open' | 'sealed' | 'over' = 'open'
  /** Waiting for a request of the source. */
  private pulling = false
  private readonly aborts = new Set<() => void>()
  private samples = 0
  private readonly unread: Outcome[] = []
  private readonly readers: { resolve: (read: Read) => void; reject: (error: unknown) => void }[] = []
  private failure: { error: unknown } | undefined
  private readonly onAbort = (): void => {
    this.seal('unfinished')
    this.abortAll()
    this.settle()
  }

  constructor(private readonly options: OutcomeStreamOptions) {
    const { requests, signal } = options
    this.source = Symbol.asyncIterator in requests ? requests[Symbol.asyncIterator]() : requests[Symbol.iterator]()
    if (signal?.aborted || options.asleep) {
      this.fail(
        signal?.aborted
          ? signal.reason
          : new EngineError('the engine is asleep and generates nothing; wake() it first'),
      )
      return
    }
    signal?.addEventListener('abort', this.onAbort)
    this.pull()
  }

  private get hasRoom(): boolean {
    const { samples, unread } = this.options.room
    return this.state === 'open' && this.samples < samples && this.unread.length < unread
  }

  private pull(): void {
    if (this.pulling) return
    this.pulling = true
    try {
      while (this.hasRoom) {
        const found = this.source.next()
        if (!('then' in found)) this.take(found)
        else {
          this.wait(found)
          return
        }
      }
    } catch (error) {
      this.fail(error)
    }
    this.pulling = false
  }

  private wait(found: Promise<IteratorResult<GenerationRequest>>): void {
    const go = (take: () => void): void => {
      this.pulling = false
      if (this.state !== 'open') return
      try {
        take()
      } catch (error) {
        this.fail(error)
      }
      this.pull()
    }
    found.then(
      result => go(() => this.take(result)),
      error => go(() => this.fail(error)),
    )
  }

  private take(found: IteratorResult<GenerationRequest>): void {
    if (found.done) {
      this.seal('finished')
      this.settle()
      return
    }
    const { value: request } = found
    const count = request.n ?? 1
    let left = count
    const abort = this.options.submit(request, outcome => {
      if (--left === 0) this.aborts.delete(abort)
      this.samples--
      this.push(outcome)
    })
    this.samples += count
    this.aborts.add(abort)
  }

  private push(outcome: Outcome): void {
    if (this.state === 'over') return
    const reader = this.readers.shift()
    if (reader) reader.resolve({ value: outcome, done: false })
    else this.unread.push(outcome)
    this.pull()
    this.settle()
  }

  /** Reads no more requests, and ends the source. */
  private seal(source: 'finished' | 'unfinished'): void {
    if (this.state !== 'open') return
    this.state = 'sealed'
    // Not awaited: the source may wait for something that never comes.
    if (source === 'unfinished') Promise.resolve(this.source.return?.()).catch(() => {})
  }

  private abortAll(): void {
    for (const abort of [...this.aborts]) abort()
  }

  private settle(): void {
    if (this.state === 'sealed' && this.samples === 0 && this.unread.length === 0) this.end()
  }

  private end(): void {
    this.state = 'over'
    this.options.signal?.removeEventListener('abort', this.onAbort)
    this.abortAll()
    for (const { resolve, reject } of this.readers.splice(0)) {
      if (this.failure) reject(this.failure.error)
      else resolve(done)
      this.failure = undefined
    }
  }

  /** Cancels running samples. Waiting outcomes are still read, then the error is thrown. */
  private fail(error: unknown): void {
    this.seal('unfinished')
    if (this.state === 'over') return
    this.failure = { error }
    this.end()
  }

  next(): Promise<Read> {
    const outcome = this.unread.shift()
    if (outcome) {
      this.pull()
      this.settle()
      return Promise.resolve({ value: outcome, done: false })
    }
    if (this.state !== 'over') return new Promise((resolve, reject) => this.readers.push({ resolve, reject }))
    const { failure } = this
    this.failure = undefined
    return failure ? Promise.reject(failure.error) : Promise.resolve(done)
  }

  return(): Promise<Read> {
    this.seal('unfinished')
    this.unread.length = 0
    this.failure = undefined
    if (this.state !== 'over') this.end()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
