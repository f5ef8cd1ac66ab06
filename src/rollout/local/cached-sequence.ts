/** What a scheduler knows of a sequence: how long it is, how much of it is computed, where that lies, and who asked for it. Pure. */

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
  /** The caller that asked for it. */
  lane: Lane | undefined
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

/** The sequences of one caller. */
export interface Lane {
  readonly caller: object
  /** Waiting sequences, in order. Some were running and keep their blocks while no other needs them. */
  readonly waiting: CachedSequence[]
  running: number
  /** How many were admitted in this turn. */
  served: number
  /** How often others were admitted because the first of these needs more blocks than are free. */
  passed: number
}
