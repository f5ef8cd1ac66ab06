/**
 * Requests that are being answered, by the names that end them. One that is ended, wherever it stands, is answered with what it
 * has: an engine knows only those prompts it has taken.
 */
import type { Generator } from '../rollout/index.js'

export class InFlight {
  private readonly flights = new Map<string, Set<Flight>>()

  constructor(private readonly engine: Pick<Generator, 'abort'>) {}

  /** `id`: the answer's, which several may share. `prompts`: their names in the engine. */
  add(id: string, prompts: readonly string[]): Flight {
    const flight = new Flight(prompts, this.engine, () => {
      const all = this.flights.get(id)
      all?.delete(flight)
      if (all?.size === 0) this.flights.delete(id)
    })
    const known = this.flights.get(id)
    if (known) known.add(flight)
    else this.flights.set(id, new Set([flight]))
    return flight
  }

  /** Ends a request by its answer's id, or prompt k of it by `id-k`. */
  abort(name: string): void {
    for (const flight of this.flights.get(name) ?? []) flight.abort()
    const [, id, prompt] = /^(.*)-(\d+)$/.exec(name) ?? []
    if (id !== undefined) for (const flight of this.flights.get(id) ?? []) flight.abortPrompt(Number(prompt))
  }

  /** Answers with how many there were. */
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
    /** It has been answered. */
    readonly land: () => void,
  ) {}

  /** Aborted when all of it is to end. */
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
