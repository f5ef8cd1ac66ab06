/** Requests in flight, by id, so that they can be aborted. An aborted request is answered with its tokens so far, also before the engine has taken it. */
import type { Generator } from '../rollout/index.js'

/** How long an unknown id is remembered: an abort may overtake its request. */
const earlyMs = 2000
const mostEarly = 20_000

export class InFlight {
  private readonly flights = new Map<string, Set<Flight>>()
  /** Ids that were aborted before their request came, and until when they count; the oldest first. */
  private readonly early = new Map<string, number>()

  constructor(private readonly engine: Pick<Generator, 'abort'>) {}

  /** `id`: the answer's id, which several requests may share. `prompts`: the ids of its prompts in the engine. */
  add(id: string, prompts: readonly string[]): Flight {
    const flight = new Flight(prompts, this.engine, () => {
      const all = this.flights.get(id)
      all?.delete(flight)
      if (all?.size === 0) this.flights.delete(id)
    })
    const known = this.flights.get(id)
    if (known) known.add(flight)
    else this.flights.set(id, new Set([flight]))
    if (this.early.size > 0) {
      if (this.cameEarly(id)) flight.abort()
      for (const prompt of prompts.keys()) if (this.cameEarly(`${id}-${prompt}`)) flight.abortPrompt(prompt)
    }
    return flight
  }

  /** Aborts a request by its answer's id, or its prompt k by `id-k`. */
  abort(name: string): void {
    const whole = this.flights.get(name)
    for (const flight of whole ?? []) flight.abort()
    const [, id = '', prompt] = /^(.*)-(\d+)$/.exec(name) ?? []
    const partly = this.flights.get(id)
    for (const flight of partly ?? []) flight.abortPrompt(Number(prompt))
    if (!whole && !partly) this.remember(name)
  }

  private remember(name: string): void {
    const now = performance.now()
    this.early.delete(name)
    this.early.set(name, now + earlyMs)
    for (const [oldest, until] of this.early) {
      if (until > now && this.early.size <= mostEarly) break
      this.early.delete(oldest)
    }
  }

  private cameEarly(name: string): boolean {
    const until = this.early.get(name)
    this.early.delete(name)
    return until !== undefined && until > performance.now()
  }

  /** Returns how many there were. */
  abortAll(): number {
    const all = [...this.flights.values()].flatMap(flights => [...flights])
    for (const flight of all) flight.abort()
    return all.length
  }
}

export class Flight {
  private readonly ended = new AbortController()
  private readonly aborted = new Set<number>()

  constructor(
    private readonly prompts: readonly string[],
    private readonly engine: Pick<Generator, 'abort'>,
    /** Call when it was answered. */
    readonly land: () => void,
  ) {}

  /** Aborted when the whole request is. */
  get signal(): AbortSignal {
    return this.ended.signal
  }

  isAborted(prompt: number): boolean {
    return this.signal.aborted || this.aborted.has(prompt)
  }

  abort(): void {
    this.ended.abort()
  }

  abortPrompt(prompt: number): void {
    const name = this.prompts[prompt]
    if (name === undefined) return
    this.aborted.add(prompt)
    if (this.aborted.size === this.prompts.length) this.abort()
    else this.engine.abort(name)
  }
}
