/**
 * Rollouts in the order of their iterations. Each starts when the one before it is done, up to `ahead` iterations early: a
 * separate engine generates while earlier rollouts train.
 */
export class RolloutsAhead<Rollout> {
  private readonly begun = new Map<number, Promise<Rollout>>()
  private next: number
  private last: Promise<unknown> = Promise.resolve()
  private readonly stopping = new AbortController()

  constructor(
    private readonly options: {
      readonly first: number
      /** There is none of this iteration, and none after it. */
      readonly end: number
      readonly ahead: number
      readonly begin: (iteration: number, signal: AbortSignal) => Promise<Rollout>
    },
  ) {
    this.next = options.first
  }

  /** The first iteration whose rollout has not begun. */
  get nextIteration(): number {
    return this.next
  }

  async take(iteration: number): Promise<Rollout> {
    const { ahead, end } = this.options
    this.beginUpTo(iteration)
    const rollout = await this.begun.get(iteration)!
    this.begun.delete(iteration)
    this.beginUpTo(Math.min(iteration + ahead, end - 1))
    return rollout
  }

  /** Ends those that were begun and not taken. What they finished is in the journal. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the run does not need this rollout any more'))
    await Promise.allSettled(this.begun.values())
  }

  private beginUpTo(last: number): void {
    for (; this.next <= last; this.next++) {
      const iteration = this.next
      const rollout = this.last.then(() => this.options.begin(iteration, this.stopping.signal))
      // The caller that takes it gets the error; until then it waits.
      rollout.catch(() => {})
      this.begun.set(iteration, rollout)
      this.last = rollout
    }
  }
}
