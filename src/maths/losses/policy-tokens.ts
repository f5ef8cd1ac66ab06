/** One response, and what its numbers count in the batch. The arrays are scratch memory and may be longer than `length`. */
export interface PolicyTokens {
  readonly length: number
  readonly logprobs: ArrayLike<number>
  readonly advantages: ArrayLike<number>
  /** d = lp - old, and exp(d). */
  readonly logRatios: Float64Array
  readonly ratios: Float64Array
  /** What each token's loss counts: its place in the aggregate, times its importance weight, 0 where it is filtered out. */
  readonly coefficients: Float64Array
  /** To be filled with the gradient with respect to the log-probabilities; zeros before. */
  readonly gradient: Float64Array
  readonly counts: ClipCounts
}

/** Tokens that count in the aggregate and were clipped. */
export interface ClipCounts {
  low: number
  high: number
  dual: number
}
