/** How long a failed replica gets no requests; doubles with each further failure. */
const firstPauseMs = 1_000
const longestPauseMs = 30_000

interface State<T> {
  readonly target: T
  inFlight: number
  failures: number
  pausedUntil: number
}

/** Chooses among equal servers: of those that are up, one with the fewest requests, so that a slow one gets few. */
export class Replicas<T> {
  private readonly states: State<T>[]
  private next = 0

  constructor(
    targets: readonly T[],
    private readonly now: () => number = () => performance.now(),
  ) {
    this.states = targets.map(target => ({ target, inFlight: 0, failures: 0, pausedUntil: 0 }))
  }

  /** Runs a request on one of them and records the result. */
  async use<R>(request: (target: T) => Promise<R>, isServersFault: (error: unknown) => boolean): Promise<R> {
    const state = this.choose()
    state.inFlight++
    try {
      const result = await request(state.target)
      state.failures = 0
      state.pausedUntil = 0
      return result
    } catch (error) {
      if (isServersFault(error)) {
        state.pausedUntil = this.now() + Math.min(longestPauseMs, firstPauseMs * 2 ** state.failures)
        state.failures++
      }
      throw error
    } finally {
      state.inFlight--
    }
  }

  /** Whether one of them is not known to be down. */
  get anyUp(): boolean {
    return this.states.some(state => state.pausedUntil <= this.now())
  }

  private choose(): State<T> {
    const now = this.now()
    const up = this.states.filter(state => state.pausedUntil <= now)
    // With all of them down, the one whose pause ends first.
    const from = up.length > 0 ? up : [this.states.reduce((a, b) => (b.pausedUntil < a.pausedUntil ? b : a))]
    const fewest = Math.min(...from.map(state => state.inFlight))
    const candidates = from.filter(state => state.inFlight === fewest)
    return candidates[this.next++ % candidates.length]!
  }
}
