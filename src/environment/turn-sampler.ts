/** Turns of many episodes as requests of one `generate` call. */
import { onAbort } from '../errors/index.js'
import type { GenerationRequest, Generator, Outcome } from '../rollout/index.js'

export class TurnSampler {
  readonly #waiting = new Map<string, { resolve(outcome: Outcome): void; reject(error: unknown): void }>()
  readonly #queue: GenerationRequest[] = []
  #wake: () => void = () => {}
  #state: 'open' | 'closed' = 'open'
  #failure: { readonly error: unknown } | undefined
  #running: Promise<void> | undefined

  constructor(
    private readonly generator: Generator,
    private readonly signal: AbortSignal,
  ) {}

  /** The outcome of a request with one sample. An aborted signal takes the request back. */
  sample(request: GenerationRequest, signal: AbortSignal): Promise<Outcome> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (signal.aborted) return Promise.reject(signal.reason)
    this.#running ??= this.#run()
    return new Promise<Outcome>((resolve, reject) => {
      const unlink = onAbort(signal, () => {
        this.#waiting.delete(request.id)
        const place = this.#queue.indexOf(request)
        if (place >= 0) this.#queue.splice(place, 1)
        else this.generator.abort(request.id)
        reject(signal.reason)
      })
      const ended =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          unlink()
          settle(value)
        }
      this.#waiting.set(request.id, { resolve: ended(resolve), reject: ended(reject) })
      this.#queue.push(request)
      this.#wake()
    })
  }

  /** The episode is over: what the engine keeps for its turns may go. */
  release(session: string): void {
    this.generator.release?.(session)
  }

  /** After the last episode. */
  async close(): Promise<void> {
    this.#state = 'closed'
    this.#wake()
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      for await (const outcome of this.generator.generate(this.#requests(), { signal: this.signal })) {
        const asked = this.#waiting.get(outcome.requestId)
        this.#waiting.delete(outcome.requestId)
        asked?.resolve(outcome)
      }
      this.#failure = { error: this.signal.reason ?? new Error('the generator ended before its requests') }
    } catch (error) {
      this.#failure = { error }
    }
    for (const { reject } of this.#waiting.values()) reject(this.#failure.error)
    this.#waiting.clear()
  }

  async *#requests(): AsyncGenerator<GenerationRequest> {
    for (;;) {
      const next = this.#queue.shift()
      if (next) yield next
      else if (this.#state === 'closed') return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}
