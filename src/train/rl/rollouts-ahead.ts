/**
 * Rollouts in the order of their iterations, up to `ahead` iterations early: a separate engine generates while earlier rollouts train.
 */
export class RolloutsAhead<Drawn, Rollout> {
  private readonly begun = new Map<number, Promise<Rollout>>()
  /** Made, and not taken yet. */
  private readonly made = new Set<number>()
  private next: number
  private last: Promise<unknown> = Promise.resolve()
  private readonly stopping = new AbortController()

  constructor(
    private readonly options: {
      readonly first: number
      /** There is none of this iteration, and none after it. */
      readonly end: number
      readonly ahead: number
      /**
       * `in-turn`: each starts when the one before it is done. `together`: each starts as soon as `ahead` allows it, also while the one
       * before it waits for its last samples.
       */
      readonly start: 'in-turn' | 'together'
      /** Its prompts. In the order of iterations, one after another. */
      readonly draw: (iteration: number) => Promise<Drawn>
      readonly make: (drawn: Drawn, iteration: number, signal: AbortSignal) => Promise<Rollout>
    },
  ) {
    this.next = options.first
  }

  /** The first iteration whose rollout has not begun. */
  get nextIteration(): number {
    return this.next
  }

  /** How many rollouts wait for their turn. */
  get ready(): number {
    return this.made.size
  }

  /** Called when the updates of all earlier iterations are done and the engine has their weights. */
  async take(iteration: number): Promise<Rollout> {
    const { ahead, end, start } = this.options
    const allowed = Math.min(iteration + ahead, end - 1)
    this.beginUpTo(start === 'together' ? allowed : iteration)
    const rollout = await this.begun.get(iteration)!
    this.begun.delete(iteration)
    this.made.delete(iteration)
    this.beginUpTo(allowed)
    return rollout
  }

  /** Ends those that were begun and not taken. What they finished is in the journal. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the run does not need this rollout any more'))
    await Promise.allSettled(this.begun.values())
  }

  private beginUpTo(last: number): void {
    const { draw, make, start } = this.options
    for (; this.next <= last; this.next++) {
      const iteration = this.next
      const drawn = this.last.then(() => draw(iteration))
      const rollout = drawn.then(found => make(found, iteration, this.stopping.signal))
      // The caller that takes it gets the error; until then it waits.
      rollout.then(
        () => this.made.add(iteration),
        () => {},
      )
      this.begun.set(iteration, rollout)
      this.last = start === 'together' ? drawn : rollout
    }
  }
}
