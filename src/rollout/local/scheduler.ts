/**
 * Which tokens a step computes, and where their keys and values go. Pure: it knows counts and blocks, neither tensors nor
 * time.
 *
 * A step is a list of rows of any sequences: the next token of those that generate, and as much of waiting prompts as the
 * token budget leaves room for. When blocks run out, the sequence that was admitted last gives its blocks back and waits at
 * the head of the queue; its tokens are computed again later. The oldest one always goes on, so all of them end.
 *
 * A device that takes several steps without prompts in one go is left to it: after a step that let sequences in, those that
 * still wait are not looked at for a while, or each would get a step of its own as a place becomes free.
 */
import { type BlockPool, blockSize, blocksFor } from './blocks.js'

/** Tokens whose keys and values are computed, or are to be. */
export interface Cached {
  blocks: number[]
  /** How many of its tokens are in the cache. */
  computed: number
  /** The logits of its rows before this one are wanted. */
  readonly scoredTo: number
}

/** All of a prompt but its last token, computed once for the samples that wait for it. */
export class Prefix implements Cached {
  blocks: number[] = []
  computed = 0
  state: 'idle' | 'computing' | 'ready' = 'idle'
  /** Samples that have not started. */
  waiting = 0

  constructor(
    readonly length: number,
    readonly scoredTo = 0,
  ) {}
}

export class CachedSequence implements Cached {
  blocks: number[] = []
  computed = 0
  preemptions = 0
  state: 'waiting' | 'running' | 'finished' = 'waiting'

  constructor(
    /** Tokens there are: the prompt's and the generated ones. */
    public length: number,
    public prefix: Prefix | undefined,
    readonly scoredTo = 0,
  ) {
    if (prefix) prefix.waiting++
  }
}

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
  private waiting: S[] = []
  private prefixes: Prefix[] = []
  /** For how many steps some have waited in vain. */
  private waited = Number.POSITIVE_INFINITY
  preemptions = 0

  constructor(
    private pool: BlockPool,
    private readonly options: SchedulerOptions,
  ) {}

  get counts(): { running: number; waiting: number; usedBlocks: number; blocks: number; preemptions: number } {
    const { pool } = this
    return {
      running: this.running.length,
      waiting: this.waiting.length,
      usedBlocks: pool.size - pool.available,
      blocks: pool.size,
      preemptions: this.preemptions,
    }
  }

  /** Whether sequences wait that the next step would let in, as far as blocks are free. */
  get admits(): boolean {
    return this.waiting.length > 0 && this.running.length < this.options.maxSequences && !this.deferAdmission
  }

  private get deferAdmission(): boolean {
    return this.waited < this.options.refillAfter && this.running.length > 0
  }

  get isIdle(): boolean {
    return this.running.length === 0 && this.waiting.length === 0
  }

  add(sequence: S): void {
    this.waiting.push(sequence)
  }

  /** Takes a sequence out, wherever it is. */
  finish(sequence: S): void {
    if (sequence.state === 'finished') return
    if (sequence.state === 'running') this.running.splice(this.running.indexOf(sequence), 1)
    else {
      this.waiting.splice(this.waiting.indexOf(sequence), 1)
      this.leavePrefix(sequence)
    }
    sequence.state = 'finished'
    this.drop(sequence)
  }

  /** Nothing that was computed counts any more: the weights changed, or the cache is gone. */
  invalidateKv(pool = this.pool): void {
    const again = this.running.splice(0)
    for (const sequence of again) {
      sequence.state = 'waiting'
      sequence.prefix = undefined
      this.drop(sequence)
    }
    this.waiting.unshift(...again)
    for (const prefix of this.prefixes.splice(0)) this.evict(prefix)
    this.pool = pool
  }

  /** The next step, or undefined where there is nothing to do. */
  next(): Plan<S> | undefined {
    for (;;) {
      const plan: Plan<S> = { scheduled: [], copies: [] }
      const budget = new StepBudget(this.options.tokenBudget, this.options.scoredRows)
      const add = (of: S | Prefix, count: number, cost = count): void => {
        const start = of.computed
        plan.scheduled.push({ of, start, count, samples: of instanceof CachedSequence && start + count === of.length })
        budget.take(of, count, cost)
      }
      for (const sequence of [...this.running]) {
        const left = sequence.length - sequence.computed
        // A next token is one row more, whatever the prompts take: they would be left with a rest for another step.
        const count = left === 1 ? 1 : Math.min(left, budget.for(sequence))
        if (sequence.state !== 'running' || count === 0) continue
        if (this.reserve(sequence, sequence.computed + count, plan.copies)) add(sequence, count, left === 1 ? 0 : count)
      }
      for (const prefix of this.prefixes) {
        const count = Math.min(prefix.length - prefix.computed, budget.for(prefix))
        if (prefix.state === 'computing' && count > 0) add(prefix, count)
      }
      this.admitWaiting(plan, budget, add)
      if (plan.scheduled.length > 0) return plan
      if (this.waiting.length === 0) return undefined
      // Prompts kept for samples that cannot start keep them from starting.
      if (this.prefixes.length === 0) throw new Error('a sequence that fits the cache was not scheduled')
      const head = this.waiting[0]!
      const others = this.prefixes.filter(prefix => prefix !== head.prefix)
      for (const prefix of others.length > 0 ? others : this.prefixes.slice()) this.evict(prefix)
      if (others.length === 0) this.leavePrefix(head)
    }
  }

  private admitWaiting(plan: Plan<S>, budget: StepBudget, add: (of: S | Prefix, count: number) => void): void {
    const { deferAdmission } = this
    const full = this.admit(plan, budget, add, deferAdmission)
    if (this.waiting.length === 0) this.waited = Number.POSITIVE_INFINITY
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
    // Kept for those already running to grow into.
    const reserve = this.running.length > 0 ? 1 + Math.floor(this.pool.size / 100) : 0
    const fits = (blocks: number): boolean => this.pool.available >= blocks + reserve
    for (let i = 0; i < this.waiting.length && budget.rows > 0; ) {
      if (free === 0) return true
      const sequence = this.waiting[i]!
      const { prefix } = sequence
      if (ready && (!prefix || prefix.state === 'idle')) return true
      // A prompt that fits a step is not divided: its rest would have to read its beginning from the cache. One that is scored
      // may take many steps as it is.
      const first = prefix ?? sequence
      const left = first.length - first.computed
      const divides = first.scoredTo > 0 || left > this.options.tokenBudget
      if (prefix?.state !== 'computing' && budget.for(first) < (divides ? 1 : left)) {
        if (first.scoredTo === 0) return false
        // It waits for room for its logits, which others do not need; its place is kept.
        free--
        i++
        continue
      }
      if (prefix?.state === 'idle') {
        if (!fits(blocksFor(prefix.length))) return true
        this.extend(prefix, prefix.length)
        prefix.state = 'computing'
        this.prefixes.push(prefix)
        add(prefix, Math.min(prefix.length, budget.for(prefix)))
      }
      if (prefix?.state === 'computing') {
        // It starts in a later step; its place is kept.
        free--
        i++
        continue
      }
      if (prefix) {
        if (!fits(1)) return true
        sequence.blocks = [...prefix.blocks]
        for (const block of sequence.blocks) this.pool.hold(block)
        sequence.computed = prefix.length
        this.leavePrefix(sequence)
      } else if (!fits(blocksFor(sequence.length))) return true
      const count = Math.min(sequence.length - sequence.computed, budget.for(sequence))
      this.copyOnWrite(sequence, plan.copies)
      this.extend(sequence, sequence.computed + count)
      this.waiting.splice(i, 1)
      this.running.push(sequence)
      sequence.state = 'running'
      free--
      add(sequence, count)
    }
    return false
  }

  /** Makes room for a running sequence's tokens up to `length`; false where it had to give way itself. */
  private reserve(sequence: S, length: number, copies: number[]): boolean {
    const needed = (): number => blocksFor(length) - sequence.blocks.length + (this.sharesNext(sequence) ? 1 : 0)
    while (this.pool.available < needed()) {
      const prefix = this.prefixes.at(-1)
      if (prefix) {
        this.evict(prefix)
        continue
      }
      const victim = this.running.at(-1)!
      this.preempt(victim)
      if (victim === sequence) return false
    }
    this.copyOnWrite(sequence, copies)
    this.extend(sequence, length)
    return true
  }

  private sharesNext(of: Cached): boolean {
    const block = of.blocks[Math.floor(of.computed / blockSize)]
    return block !== undefined && this.pool.isShared(block)
  }

  /** The block that the next token goes into is the sequence's own, copied where others read it too. */
  private copyOnWrite(of: Cached, copies: number[]): void {
    if (!this.sharesNext(of)) return
    const at = Math.floor(of.computed / blockSize)
    const copy = this.pool.take()
    copies.push(of.blocks[at]!, copy)
    this.pool.release(of.blocks[at]!)
    of.blocks[at] = copy
  }

  private extend(of: Cached, length: number): void {
    while (of.blocks.length < blocksFor(length)) of.blocks.push(this.pool.take())
  }

  private drop(of: Cached): void {
    for (const block of of.blocks) this.pool.release(block)
    of.blocks = []
    of.computed = 0
  }

  private preempt(sequence: S): void {
    this.running.splice(this.running.indexOf(sequence), 1)
    this.drop(sequence)
    sequence.state = 'waiting'
    sequence.preemptions++
    this.preemptions++
    this.waiting.unshift(sequence)
  }

  private evict(prefix: Prefix): void {
    const at = this.prefixes.indexOf(prefix)
    if (at >= 0) this.prefixes.splice(at, 1)
    this.drop(prefix)
    prefix.state = 'idle'
  }

  private leavePrefix(sequence: S): void {
    const { prefix } = sequence
    sequence.prefix = undefined
    if (prefix && --prefix.waiting === 0) this.evict(prefix)
  }

  /**
   * Makes room for the tokens that several steps of a plan of single rows would add, as far as blocks are free: nobody gives
   * way for it. Answers with the number of steps there is room for; what they did not use, `trim` gives back. `budgets`: how
   * many tokens each work's sequence may get.
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
    for (const [i, { of, start }] of plan.scheduled.entries()) this.extend(of, reach(start, i, count))
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
      // What was dropped meanwhile starts anew.
      if (of.blocks.length === 0 || of.computed !== start) continue
      of.computed = start + count
      if (of instanceof Prefix && of.computed === of.length) of.state = 'ready'
    }
  }
}
