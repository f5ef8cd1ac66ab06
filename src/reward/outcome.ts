/** Why a sample has no reward. */
export const failureReasons = [
  /** The reward threw, or its promise was rejected. */
  'threw',
  /** The process of the reward ended: `process.exit`, a crash, or a kill. */
  'crashed',
  /** Nothing came before the deadline. */
  'timeout',
  /** An answer came, after the deadline: it is not used. */
  'late',
  /** NaN or an infinity. */
  'non-finite',
  /** Something that is not a number. */
  'wrong-type',
  /** More or fewer answers than samples, so they cannot be assigned. */
  'wrong-count',
  /** The sample lacks what the reward needs: a target, a column, ids; or is too long for it. */
  'input',
  /** No connection, or one that broke. */
  'unreachable',
  /** The server is overloaded: 429, or RESOURCE_EXHAUSTED of gRPC. */
  'overloaded',
  /** The server failed: 5xx, or gRPC's INTERNAL. */
  'server-error',
  /** The server refuses the request permanently: 4xx or similar. */
  'refused',
  /** The answer does not follow the protocol. */
  'protocol',
  /** The caller aborted. */
  'aborted',
] as const

export type FailureReason = (typeof failureReasons)[number]

/** What one reward says of a sample. */
export interface RewardScore {
  readonly reward: number
  /** Further numbers to log; those that are not finite are left out. */
  readonly metrics?: Readonly<Record<string, number>>
}

export interface ScoredReward extends RewardScore {
  readonly kind: 'scored'
}

/** A sample without a reward. It is never a reward of 0. */
export interface FailedReward {
  readonly kind: 'failed'
  readonly reason: FailureReason
  /** What happened, without secrets and without the text of the sample. */
  readonly message: string
  /** Name of the reward source. */
  readonly source: string
}

export type SourceOutcome = ScoredReward | FailedReward

/** The reward of a sample, with what each source gave to it. */
export interface CombinedReward extends ScoredReward {
  /** Unweighted, by the source's name. */
  readonly components: Readonly<Record<string, number>>
  readonly metrics: Readonly<Record<string, number>>
}

export type RewardOutcome = CombinedReward | FailedReward
