/**
 * Chooses the tokens of each step, and the blocks of their keys and values. Pure: it knows counts and blocks, but no tensors and no time.
 *
 * A step is a list of rows of any sequences: the next token of generating sequences, and as many tokens of waiting prompts as the token
 * budget allows. When blocks run out, the last admitted sequence is preempted: it returns its blocks, waits at the head of its queue, and
 * is computed again later. The oldest sequence is never preempted, so all sequences end.
 *
 * Callers share the engine: each has a queue, and they take turns of a few sequences. Where no place is free, a caller without a running
 * sequence gets a place from the caller with the most. So a small request does not wait for a large one to end. Results do not depend on
 * this.
 *
 * Some devices take several decode steps without the host. After a step that admitted sequences, waiting ones are not admitted for a while:
 * otherwise each free place would interrupt the device.
 */
import { type BlockPool, blocksFor, type SessionTokens } from './blocks.js'
import { type Cached, CachedSequence, type Lane, Prefix } from './cached-sequence.js'
import { Lanes } from './lanes.js'
import { commonStart } from './session-start.js'

/** How many times a caller may be skipped because its first sample needs more blocks than are free; then it blocks the queue. */
const maxPassed = 64

/** Most callers that are skipped in a step: there may be thousands. */
const maxPassedOver = 16

/** Rows of one step: the tokens `start..start + count` of `of`. */
interface ScheduledTokens<S extends CachedSequence> {
  of: S | Prefix
  start: number
  count: number
  /** These rows include the one that the next token is sampled from. */
  samples: boolean
}

export interface Plan<S extends CachedSequence> {
  scheduled: ScheduledTokens<S>[]
  /** Blocks to copy first, as pairs of from and to. */
  copies: number[]
}

export interface SchedulerOptions {
  maxSequences: number
  /** Most rows of prompts in a step. A prompt that fits is not split. */
  tokenBudget: number
  /** Most rows of prompts with logits in a step: logits take much memory. */
  scoredRows: number
  /** Fewest steps before waiting sequences are admitted; 0: the next step. */
  refillAfter: number
}

/** The rest of a step's budget. */
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
  /** Sequences that gave their place to other callers but keep their blocks. */
  private readonly suspended = new Set<S>()
  private prefixes: Prefix[] = []
  /** For how many steps sequences have waited without being admitted. */
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

  /** Whether the next step would admit waiting sequences, if blocks are free. */
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

  /** The running sequence that gives its place or blocks to new ones: of a caller with more sequences than a turn. */
  private get donor(): S | undefined {
    const youngest = this.running.length > 0 ? this.youngestOfMost() : undefined
    return youngest && youngest.lane!.running > this.lanes.quantum ? youngest : undefined
  }

  get isIdle(): boolean {
    return this.running.length === 0 && this.lanes.waiting === 0
  }

  /** Sequences of the same `caller` share a turn. */
  add(sequence: S, caller: object = this): void {
    this.lanes.add(sequence, caller)
  }

  /** Gives a waiting sequence what its session kept, as far as its prompt begins with it. */
  continueSession(sequence: S, session: string, prompt: SessionTokens): void {
    const kept = this.pool.claim(session)
    if (!kept) return
    // The last token of the prompt is computed, to sample from.
    const count = Math.min(commonStart(kept, prompt), sequence.length - 1)
    sequence.blocks = kept.blocks.splice(0, blocksFor(count))
    sequence.computed = count
    for (const block of kept.blocks) this.pool.release(block)
    if (count > 0) this.suspended.add(sequence)
  }

  releaseSession(session: string): void {
    this.pool.forget(session)
  }

  /** Removes a running sequence from its place. */
  private stop(sequence: S): void {
    this.running.splice(this.running.lastIndexOf(sequence), 1)
    sequence.lane!.running--
  }

  /** Removes a sequence, running or waiting. `kept`: the tokens of a running one that its session keeps. */
  finish(sequence: S, kept?: SessionTokens & { readonly session: string }): void {
    if (sequence.state === 'finished') return
    const lane = sequence.lane!
    const wasRunning = sequence.state === 'running'
    if (wasRunning) this.stop(sequence)
    else {
      this.lanes.dequeue(sequence)
      this.suspended.delete(sequence)
      this.leavePrefix(sequence)
    }
    sequence.state = 'finished'
    if (kept && wasRunning) this.pool.keep(kept.session, sequence, kept)
    this.pool.drop(sequence)
    this.lanes.leave(lane)
  }

  /** All sequences are computed again: the weights changed, or the cache was released. */
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
    this.pool.forgetAll()
    this.pool = pool
  }

  /** The next step, or undefined where there is nothing to do. */
  next(): Plan<S> | undefined {
    for (;;) {
      const newcomer = this.deferAdmission ? undefined : this.lanes.newcomer()
      if (newcomer) this.makeWay(newcomer)
      const plan: Plan<S> = { scheduled: [], copies: [] }
      const { tokenBudget } = this.options
      // Long prompts that have begun leave half of the step to it.
      const kept = newcomer ? tokenBudget >> 1 : 0
      const budget = new StepBudget(tokenBudget - kept, this.options.scoredRows)
      const add = (of: S | Prefix, count: number, cost = count): void => {
        const start = of.computed
        plan.scheduled.push({ of, start, count, samples: of instanceof CachedSequence && start + count === of.length })
        budget.take(of, count, cost)
      }
      for (const sequence of this.inOrder()) {
        const left = sequence.length - sequence.computed
        // Next tokens do not count against the budget of prompts: a prompt would be split for them.
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

  /** No sequence runs and the first cannot start: frees cached prompts and blocks of suspended sequences. */
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

  /** Order in which sequences get blocks: the oldest first, and of callers the one with the fewest running. */
  private inOrder(): S[] {
    const order = [...this.running]
    return this.lanes.count < 2 ? order : order.sort((a, b) => a.lane!.running - b.lane!.running)
  }

  /** The sequence to preempt: the youngest of the caller with the most. The oldest only if there is no other. */
  private youngestOfMost(running: readonly S[] = this.running): S {
    let found = running.at(-1)!
    for (let i = running.length - 2; i >= 0; i--) {
      const sequence = running[i]!
      if (sequence.lane!.running > found.lane!.running) found = sequence
    }
    return found
  }

  /** Frees a place, and blocks to start with, for a caller without a running sequence. */
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

  /** Blocks that running sequences may still need. */
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

  /** Returns whether a sequence still waits for a place or for blocks. `ready`: only sequences whose prompt is computed. */
  private admit(
    plan: Plan<S>,
    budget: StepBudget,
    add: (of: S | Prefix, count: number) => void,
    ready: boolean,
  ): boolean {
    let free = this.options.maxSequences - this.running.length
    const { kept } = this
    const fits = (blocks: number): boolean => this.pool.available >= blocks + kept
    /** How many sequences of a lane keep their places and start in a later step. */
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
      // A prompt that fits a step is not split: its rest would read its beginning from the cache. A scored prompt may take many steps
      // anyway.
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
        // It waits for its prompt, or for memory for its logits, which others do not need.
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

  /** Gets blocks for a running sequence up to `length`; false where it was preempted itself. */
  private reserve(sequence: S, length: number, plan: Plan<S>): boolean {
    const needed = (): number => blocksFor(length) - sequence.blocks.length + (this.pool.sharesNext(sequence) ? 1 : 0)
    while (this.pool.available < needed()) {
      const prefix = this.prefixes.at(-1)
      const [suspended] = this.suspended
      if (prefix) this.evict(prefix)
      else if (suspended) this.dropSuspended(suspended)
      else {
        // Sequences that are part of the step stay.
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

  /** Frees the blocks of a suspended sequence; it is computed again later. */
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

  /** Returns the blocks after the next token of a plan's sequences. */
  trim(plan: Plan<S>): void {
    for (const { of } of plan.scheduled) {
      if (!(of instanceof CachedSequence) || of.state !== 'running') continue
      while (of.blocks.length > blocksFor(of.length)) this.pool.release(of.blocks.pop()!)
    }
  }

  /** Records that a step, or several steps, were computed. */
  commit(plan: Plan<S>, steps = 1): void {
    this.waited += steps
    for (const { of, start, count } of plan.scheduled) {
      // A sequence that was preempted meanwhile is computed again.
      if (of.blocks.length === 0 || of.computed !== start) continue
      of.computed = start + count
      if (of instanceof Prefix && of.computed === of.length) of.state = 'ready'
    }
  }
}
