/**
 * The time limit of an episode. It counts the time of the environment: sessions, steps and tools. Time in the engine does not count: a
 * busy engine, or one that is away for a while, ends no episode.
 */
export class EpisodeClock {
  #left: number
  #since: number | undefined
  #timer: NodeJS.Timeout | undefined
  /** Agents may ask the engine several times at once. */
  #pauses = 0
  #ended = false

  constructor(
    seconds: number,
    private readonly onEnd: () => void,
  ) {
    this.#left = seconds * 1000
    this.#go()
  }

  /** The clock stands while the engine works. */
  async pausedFor<T>(work: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) this.stop()
    try {
      return await work()
    } finally {
      if (--this.#pauses === 0 && !this.#ended) this.#go()
    }
  }

  /** The episode is over. */
  end(): void {
    this.#ended = true
    this.stop()
  }

  stop(): void {
    clearTimeout(this.#timer)
    if (this.#since !== undefined) this.#left -= performance.now() - this.#since
    this.#since = undefined
  }

  #go(): void {
    this.#since = performance.now()
    this.#timer = setTimeout(this.onEnd, Math.max(0, this.#left))
  }
}
