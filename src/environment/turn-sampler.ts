/** Turns of many episodes as requests of one `generate` call. */
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

  /** The outcome of a request with one sample. */
  sample(request: GenerationRequest): Promise<Outcome> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    this.#running ??= this.#run()
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject })
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
