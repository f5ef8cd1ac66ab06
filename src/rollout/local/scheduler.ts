/**
 * Which tokens a step computes, and where their keys and values go. Pure: it knows counts and blocks, neither tensors nor
 * time.
 *
 * A step is a list of rows of any sequences: the next token of those that generate, and as much of waiting prompts as the
 * token budget leaves room for. When blocks run out, the sequence that was admitted last gives its blocks back and waits at
 * the head of its queue; its tokens are computed again later. The oldest one always goes on, so all of them end.
 *
 * Callers share the engine: each has a queue, and they take turns, a few sequences each. Where no place is free, one whose turn
 * it is and who has none running gets one from who has most. So a small request waits for those before it, not for a large one
 * to end. What a sequence says does not depend on it.
 *
 * A device that takes several steps without prompts in one go is left to it: after a step that let sequences in, those that
 * still wait are not looked at for a while, or each would get a step of its own as a place becomes free.
 */
import { type BlockPool, blocksFor } from './blocks.js'
import { type Cached, CachedSequence, type Lane, Prefix } from './cached-sequence.js'
import { Lanes } from './lanes.js'

/** How many times a caller may be skipped because its first sample needs more blocks than are free; then it blocks the queue. */
const maxPassed = 64

/** So many callers are passed over in a step before the search for one whose first fits ends: there may be thousands. */
const maxPassedOver = 16

/** Rows of one step: the tokens `start..start + count` of `of`. */
export interface ScheduledTokens<S extends CachedSequence> {
  of: S | Prefix
  start: number
  count: number
  /** The row after which the next token is sampled is among them. */
  samples: boolean
}

export interface Plan<S extends CachedSequence> {
  scheduled: ScheduledTokens<S>[]
  /** Blocks to copy before anything else, as pairs of from and to. */
  copies: number[]
}

export interface SchedulerOptions {
  maxSequences: number
  /** Rows of a step that are not next tokens. A prompt that fits is not divided. */
  tokenBudget: number
  /** Rows of a step whose logits are wanted, besides those after which a token is sampled: logits take much memory. */
  scoredRows: number
  /** Steps after which sequences that found no place are let in at the earliest; 0: in the next. */
  refillAfter: number
}

/** What a step still has room for. */
class StepBudget {
  constructor(
    public rows: number,
    private scored: number,
  ) {}

  /** The next rows of this. */
  for(of: Cached): number {
    return of.scoredTo - of.computed > this.scored ? Math.min(this.rows, this.scored) : this.rows
  }

  take(of: Cached, count: number, cost: number): void {
    this.rows -= cost
    this.scored -= Math.max(0, Math.min(of.scoredTo - of.computed, count))
  }
}

export class Scheduler<S extends CachedSequence> {
  private running: S[] = []
  private readonly lanes: Lanes<S>
  /** Sequences that gave their place to other callers', and still have their blocks. */
  private readonly suspended = new Set<S>()
  private prefixes: Prefix[] = []
  /** For how many steps some have waited in vain. */
  private waited = Number.POSITIVE_INFINITY
  preemptions = 0

  constructor(
    private pool: BlockPool,
    private readonly options: SchedulerOptions,
  ) {
    this.lanes = new Lanes(Math.min(16, Math.max(1, options.maxSequences >> 3)))
  }

  get counts(): { running: number; waiting: number; usedBlocks: number; blocks: number; preemptions: number } {
    const { pool } = this
    return {
      running: this.running.length,
      waiting: this.lanes.waiting,
      usedBlocks: pool.size - pool.available,
      blocks: pool.size,
      preemptions: this.preemptions,
    }
  }

  /** Whether sequences wait that the next step would let in, as far as blocks are free. */
  get admits(): boolean {
    if (this.lanes.waiting === 0 || this.deferAdmission) return false
    return (
      this.running.length < this.options.maxSequences ||
      (this.lanes.newcomer() !== undefined && this.donor !== undefined)
    )
  }

  private get deferAdmission(): boolean {
    return this.waited < this.options.refillAfter && this.running.length > 0
  }

  /** The running sequence that gives its place, or its blocks, to newcomers: of a caller that has more than a turn's. */
  private get donor(): S | undefined {
    const youngest = this.running.length > 0 ? this.youngestOfMost() : undefined
    return youngest && youngest.lane!.running > this.lanes.quantum ? youngest : undefined
  }

  get isIdle(): boolean {
    return this.running.length === 0 && this.lanes.waiting === 0
  }

  /** `caller`: with whose other sequences it shares a turn. */
  add(sequence: S, caller: object = this): void {
    this.lanes.add(sequence, caller)
  }

  /** Takes a running sequence out of its place. */
  private stop(sequence: S): void {
    this.running.splice(this.running.lastIndexOf(sequence), 1)
    sequence.lane!.running--
  }

  /** Takes a sequence out, wherever it is. */
  finish(sequence: S): void {
    if (sequence.state === 'finished') return
    const lane = sequence.lane!
    if (sequence.state === 'running') this.stop(sequence)
    else {
      this.lanes.dequeue(sequence)
      this.suspended.delete(sequence)
      this.leavePrefix(sequence)
    }
    sequence.state = 'finished'
    this.pool.drop(sequence)
    this.lanes.leave(lane)
  }

  /** Nothing that was computed counts any more: the weights changed, or the cache is gone. */
  invalidateKv(pool = this.pool): void {
    for (const sequence of this.suspended) this.pool.drop(sequence)
    this.suspended.clear()
    for (const sequence of this.running.slice().reverse()) {
      this.stop(sequence)
      sequence.prefix = undefined
      this.pool.drop(sequence)
      this.lanes.enqueue(sequence, 'first')
    }
    for (const prefix of this.prefixes.splice(0)) this.evict(prefix)
    this.pool = pool
  }

  /** The next step, or undefined where there is nothing to do. */
  next(): Plan<S> | undefined {
    for (;;) {
      const newcomer = this.deferAdmission ? undefined : this.lanes.newcomer()
      if (newcomer) this.makeWay(newcomer)
      const plan: Plan<S> = { scheduled: [], copies: [] }
      const { tokenBudget } = this.options
      // Long prompts that are under way leave half a step to it.
      const kept = newcomer ? tokenBudget >> 1 : 0
      const budget = new StepBudget(tokenBudget - kept, this.options.scoredRows)
      const add = (of: S | Prefix, count: number, cost = count): void => {
        const start = of.computed
        plan.scheduled.push({ of, start, count, samples: of instanceof CachedSequence && start + count === of.length })
        budget.take(of, count, cost)
      }
      for (const sequence of this.inOrder()) {
        const left = sequence.length - sequence.computed
        // A next token is one row more, whatever the prompts take: they would be left with a rest for another step.
        const count = left === 1 ? 1 : Math.min(left, budget.for(sequence))
        if (sequence.state !== 'running' || count === 0) continue
        if (this.reserve(sequence, sequence.computed + count, plan)) add(sequence, count, left === 1 ? 0 : count)
      }
      for (const prefix of this.prefixes) {
        const count = Math.min(prefix.length - prefix.computed, budget.for(prefix))
        if (prefix.state === 'computing' && count > 0) add(prefix, count)
      }
      budget.rows += kept
      this.admitWaiting(plan, budget, add)
      if (plan.scheduled.length > 0) return plan
      if (this.lanes.waiting === 0) return undefined
      this.freeForHead()
    }
  }

  /** Nothing is running and the first cannot start: prompts kept for samples, and blocks of the suspended, are in its way. */
  private freeForHead(): void {
    const head = this.lanes.next(new Map(), new Set())!.waiting[0]!
    const suspended = [...this.suspended].filter(sequence => sequence !== head)
    if (suspended.length > 0) {
      for (const sequence of suspended) this.dropSuspended(sequence)
      return
    }
    if (this.prefixes.length === 0) throw new Error('a sequence that fits the cache was not scheduled')
    const others = this.prefixes.filter(prefix => prefix !== head.prefix)
    for (const prefix of others.length > 0 ? others : this.prefixes.slice()) this.evict(prefix)
    if (others.length === 0) this.leavePrefix(head)
  }

  /** Who gets blocks first: the oldest, and of callers the one that has the fewest running. */
  private inOrder(): S[] {
    const order = [...this.running]
    return this.lanes.count < 2 ? order : order.sort((a, b) => a.lane!.running - b.lane!.running)
  }

  /** The one of these that gives way to others: the youngest of the caller that has most. The oldest does so only where it is alone. */
  private youngestOfMost(running: readonly S[] = this.running): S {
    let found = running.at(-1)!
    for (let i = running.length - 2; i >= 0; i--) {
      const sequence = running[i]!
      if (sequence.lane!.running > found.lane!.running) found = sequence
    }
    return found
  }

  /** Makes a place, and blocks to start in, for a caller that has none running. */
  private makeWay(newcomer: Lane): void {
    if (this.running.length >= this.options.maxSequences && this.donor) {
      const { donor } = this
      this.stop(donor)
      this.lanes.enqueue(donor, 'first')
      this.suspended.add(donor)
    }
    const needed = this.blocksToStart(newcomer.waiting[0]!)
    while (this.pool.available < needed + this.kept) {
      const [suspended] = this.suspended
      const { donor } = this
      if (suspended) this.dropSuspended(suspended)
      else if (donor) this.preempt(donor)
      else break
    }
  }

  /** Blocks that those already running may grow into. */
  private get kept(): number {
    return this.running.length > 0 ? 1 + Math.floor(this.pool.size / 100) : 0
  }

  private blocksToStart({ prefix, length, blocks }: CachedSequence): number {
    if (!prefix) return blocksFor(length) - blocks.length
    return prefix.state === 'idle' ? blocksFor(prefix.length) : 1
  }

  private admitWaiting(plan: Plan<S>, budget: StepBudget, add: (of: S | Prefix, count: number) => void): void {
    const { deferAdmission } = this
    const full = this.admit(plan, budget, add, deferAdmission)
    if (this.lanes.waiting === 0) this.waited = Number.POSITIVE_INFINITY
    if (!deferAdmission) this.waited = full ? 0 : Number.POSITIVE_INFINITY
  }

  /** Answers whether a sequence waits for want of a place or of blocks. `ready`: only those whose prompt is computed. */
  private admit(
    plan: Plan<S>,
    budget: StepBudget,
    add: (of: S | Prefix, count: number) => void,
    ready: boolean,
  ): boolean {
    let free = this.options.maxSequences - this.running.length
    const { kept } = this
    const fits = (blocks: number): boolean => this.pool.available >= blocks + kept
    /** How many of a lane keep their places: they start in a later step. */
    const places = new Map<Lane, number>()
    const passedOver = new Set<Lane>()
    let full = false
    while (budget.rows > 0 && passedOver.size < maxPassedOver) {
      const lane = this.lanes.next(places, passedOver)
      if (!lane) break
      if (free === 0) return true
      const at = places.get(lane) ?? 0
      const sequence = lane.waiting[at] as S
      const { prefix } = sequence
      const isReady = prefix ? prefix.state !== 'idle' : this.suspended.has(sequence)
      if (ready && !isReady) {
        full = true
        passedOver.add(lane)
        continue
      }
      // A prompt that fits a step is not divided: its rest would have to read its beginning from the cache. One that is scored
      // may take many steps as it is.
      const first = prefix ?? sequence
      const left = first.length - first.computed
      const divides = first.scoredTo > 0 || left > this.options.tokenBudget
      const lacksRows = prefix?.state !== 'computing' && budget.for(first) < (divides ? 1 : left)
      if (lacksRows && first.scoredTo === 0) {
        passedOver.add(lane)
        continue
      }
      if (!lacksRows && prefix?.state !== 'computing' && !fits(this.blocksToStart(sequence))) {
        full = true
        if (lane.passed >= maxPassed) break
        passedOver.add(lane)
        continue
      }
      if (!lacksRows && prefix?.state === 'idle') {
        this.pool.extend(prefix, prefix.length)
        prefix.state = 'computing'
        this.prefixes.push(prefix)
        add(prefix, Math.min(prefix.length, budget.for(prefix)))
      }
      if (lacksRows || prefix?.state === 'computing') {
        // It waits for its prompt, or for room for its logits, which others do not need.
        places.set(lane, at + 1)
        free--
        continue
      }
      if (prefix) {
        sequence.blocks = [...prefix.blocks]
        for (const block of sequence.blocks) this.pool.hold(block)
        sequence.computed = prefix.length
        this.leavePrefix(sequence)
      }
      const count = Math.min(sequence.length - sequence.computed, budget.for(sequence))
      this.pool.copyOnWrite(sequence, plan.copies)
      this.pool.extend(sequence, sequence.computed + count)
      this.lanes.start(sequence, at)
      this.suspended.delete(sequence)
      this.running.push(sequence)
      for (const passed of passedOver) passed.passed++
      free--
      add(sequence, count)
    }
    return full
  }

  /** Makes room for a running sequence's tokens up to `length`; false where it had to give way itself. */
  private reserve(sequence: S, length: number, plan: Plan<S>): boolean {
    const needed = (): number => blocksFor(length) - sequence.blocks.length + (this.pool.sharesNext(sequence) ? 1 : 0)
    while (this.pool.available < needed()) {
      const prefix = this.prefixes.at(-1)
      const [suspended] = this.suspended
      if (prefix) this.evict(prefix)
      else if (suspended) this.dropSuspended(suspended)
      else {
        // Those that are part of the step already stay.
        const scheduled = new Set(plan.scheduled.map(({ of }) => of))
        const victim = this.youngestOfMost(this.running.filter(each => !scheduled.has(each)))
        this.preempt(victim)
        if (victim === sequence) return false
      }
    }
    this.pool.copyOnWrite(sequence, plan.copies)
    this.pool.extend(sequence, length)
    return true
  }

  private preempt(sequence: S): void {
    this.stop(sequence)
    this.pool.drop(sequence)
    sequence.preemptions++
    this.preemptions++
    this.lanes.enqueue(sequence, 'first')
  }

  /** What a suspended sequence has is computed again. */
  private dropSuspended(sequence: S): void {
    this.suspended.delete(sequence)
    this.pool.drop(sequence)
    sequence.preemptions++
    this.preemptions++
  }

  private evict(prefix: Prefix): void {
    const at = this.prefixes.indexOf(prefix)
    if (at >= 0) this.prefixes.splice(at, 1)
    this.pool.drop(prefix)
    prefix.state = 'idle'
  }

  private leavePrefix(sequence: CachedSequence): void {
    const { prefix } = sequence
    sequence.prefix = undefined
    if (prefix && --prefix.waiting === 0) this.evict(prefix)
  }

  /**
   * Reserves free blocks for the tokens of several steps of a plan of single rows; no sequence is preempted for it. Returns the
   * number of steps with room; `trim` gives unused blocks back. `budgets`: how many tokens each sequence may get.
   */
  reserveSteps(plan: Plan<S>, steps: number, budgets: Int32Array): number {
    const reach = (start: number, i: number, count: number): number => start + Math.min(count, budgets[i]!)
    const needed = (count: number): number =>
      plan.scheduled.reduce(
        (sum, { of, start }, i) => sum + Math.max(0, blocksFor(reach(start, i, count)) - of.blocks.length),
        0,
      )
    let [count, tooMany] = [1, steps + 1]
    while (count + 1 < tooMany) {
      const middle = (count + tooMany) >> 1
      if (needed(middle) <= this.pool.available) count = middle
      else tooMany = middle
    }
    for (const [i, { of, start }] of plan.scheduled.entries()) this.pool.extend(of, reach(start, i, count))
    return count
  }

  /** Gives back the blocks behind the next token of a plan's sequences. */
  trim(plan: Plan<S>): void {
    for (const { of } of plan.scheduled) {
      if (!(of instanceof CachedSequence) || of.state !== 'running') continue
      while (of.blocks.length > blocksFor(of.length)) this.pool.release(of.blocks.pop()!)
    }
  }

  /** A step was computed, or several at once. */
  commit(plan: Plan<S>, steps = 1): void {
    this.waited += steps
    for (const { of, start, count } of plan.scheduled) {
      // A sequence that was dropped in between starts anew.
      if (of.blocks.length === 0 || of.computed !== start) continue
      of.computed = start + count
      if (of instanceof Prefix && of.computed === of.length) of.state = 'ready'
    }
  }
}
