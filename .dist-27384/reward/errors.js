import { WhetstoneError } from '../errors/index.js';
/** Rewards that cannot work as they were described; thrown before the first of them is asked. */
export class RewardConfigError extends WhetstoneError {
    name = 'RewardConfigError';
}
/** A reward failed and `onRewardFailure` is `stop`. */
export class RewardStoppedError extends WhetstoneError {
    failure;
    sample;
    name = 'RewardStoppedError';
    constructor(failure, sample) {
        super(`reward "${failure.source}" failed on sample ${sample.sample} of prompt ${sample.group} (${failure.reason}): ${failure.message}`);
        this.failure = failure;
        this.sample = sample;
    }
}
/** What a reward source throws to say why it failed; anything else it throws counts as `threw`. */
export class SourceError extends Error {
    name = 'SourceError';
    reason;
    /** `retryable`: the same question may be answered next time. */
    repeat;
    /** How long to wait before that, where the source knows. */
    retryAfterMs;
    constructor(reason, message, options = {}) {
        super(message, { cause: options.cause });
        this.reason = reason;
        this.repeat = options.repeat ?? 'final';
        this.retryAfterMs = options.retryAfterMs;
    }
}
//# sourceMappingURL=errors.js.map