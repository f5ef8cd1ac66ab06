import { WhetstoneError } from '../errors/index.js';
import type { FailedReward, FailureReason } from './outcome.js';
/** Rewards that cannot work as they were described; thrown before the first of them is asked. */
export declare class RewardConfigError extends WhetstoneError {
    name: string;
}
/** A reward failed and `onRewardFailure` is `stop`. */
export declare class RewardStoppedError extends WhetstoneError {
    readonly failure: FailedReward;
    readonly sample: {
        group: string;
        sample: number;
    };
    name: string;
    constructor(failure: FailedReward, sample: {
        group: string;
        sample: number;
    });
}
/** What a reward source throws to say why it failed; anything else it throws counts as `threw`. */
export declare class SourceError extends Error {
    name: string;
    readonly reason: FailureReason;
    /** `retryable`: the same question may be answered next time. */
    readonly repeat: 'retryable' | 'final';
    /** How long to wait before that, where the source knows. */
    readonly retryAfterMs: number | undefined;
    constructor(reason: FailureReason, message: string, options?: {
        repeat?: 'retryable' | 'final';
        retryAfterMs?: number | undefined;
        cause?: unknown;
    });
}
