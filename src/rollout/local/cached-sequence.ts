/** A sequence for the scheduler: its length, how much of it is computed, its blocks and its caller. Pure. */

/** Tokens with keys and values in the cache, or to be computed. */
export interface Cached {
  blocks: number[]
  /** How many of its tokens are in the cache. */
  computed: number
  /** Rows before this one need logits. */
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
  /** The caller that asked for it. */
  lane: Lane | undefined
  state: 'waiting' | 'running' | 'finished' = 'waiting'

  constructor(
    /** Number of tokens, of the prompt and generated. */
    public length: number,
    public prefix: Prefix | undefined,
    readonly scoredTo = 0,
  ) {
    if (prefix) prefix.waiting++
  }
}

/** The sequences of one caller. */
export interface Lane {
  readonly caller: object
  /** Waiting sequences, in order. Some were running and keep their blocks while no other needs them. */
  readonly waiting: CachedSequence[]
  running: number
  /** How many were admitted in this turn. */
  served: number
  /** How often it was skipped because its first sequence needs more blocks than are free. */
  passed: number
}
