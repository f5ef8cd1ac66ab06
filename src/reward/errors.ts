import { type ErrorCode, WhetstoneError } from '../errors/index.js'
import type { FailedReward, FailureReason } from './outcome.js'

/** Invalid reward options; thrown before the first call. */
export class RewardConfigError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_REWARD'
  override name = 'RewardConfigError'
}

/** A reward failed and `onRewardFailure` is `stop`. */
export class RewardStoppedError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_REWARD_STOPPED'
  override name = 'RewardStoppedError'

  constructor(
    readonly failure: FailedReward,
    readonly sample: { promptId: string; sample: number },
  ) {
    super(
      `reward "${failure.source}" failed on sample ${sample.sample} of prompt ${sample.promptId} (${failure.reason}): ${failure.message}`,
    )
  }
}

/** Thrown by a reward source with the reason of a failure; other errors count as `threw`. */
export class SourceError extends Error {
  override name = 'SourceError'
  readonly reason: FailureReason
  /** `retryable`: the same question may be answered next time. */
  readonly repeat: 'retryable' | 'final'
  /** How long to wait before that, where the source knows. */
  readonly retryAfterMs: number | undefined

  constructor(
    reason: FailureReason,
    message: string,
    options: { repeat?: 'retryable' | 'final'; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.reason = reason
    this.repeat = options.repeat ?? 'final'
    this.retryAfterMs = options.retryAfterMs
  }
}
