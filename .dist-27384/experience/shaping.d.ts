import { type AdvantageEstimator } from './estimators.js';
/** Added to the standard deviation of a group unless `groupNormEps` says otherwise, and to whitening's. */
export declare const normalizationEpsilon = 1e-9;
export interface GroupShaping {
    readonly estimator: AdvantageEstimator;
    /** Of group_norm, grpo and cpgd: added to the standard deviation that rewards are divided by. Default 1e-9. */
    readonly groupNormEps?: number | undefined;
}
export interface OverlongOptions {
    readonly maxNewTokens: number;
    readonly overlongBufferLen: number;
    readonly overlongBufferPenaltyFactor: number;
}
/**
 * What a response loses for reaching into the last `overlongBufferLen` tokens it may have: 0 before them, `-factor` at the end.
 *
 * @example
 * overlongPenalty(487, { maxNewTokens: 512, overlongBufferLen: 50, overlongBufferPenaltyFactor: 1 }) // -0.5
 */
export declare function overlongPenalty(length: number, options: OverlongOptions): number;
/** The same by a config, in which the buffer is off unless it says otherwise. Dynamic sampling looks at rewards with it. */
export declare function configuredOverlongPenalty(length: number, options: Omit<OverlongOptions, 'maxNewTokens'> & {
    readonly overlongBuffer: boolean;
    readonly maxNewTokens?: number | undefined;
}): number;
/** Whether a group teaches nothing: every member earned exactly the same. */
export declare function allEqual(values: ArrayLike<number>): boolean;
/**
 * The rewards of one prompt's samples as its estimator compares them. Equal rewards give exactly 0 under every group estimator:
 * a mean that rounding puts one digit off is not a difference.
 *
 * @example
 * shapeGroup([1, 0, 0.5, 0.5], { estimator: 'rloo' }) // 0.667, -0.667, 0, 0
 */
export declare function shapeGroup(rewards: ArrayLike<number>, { estimator, groupNormEps }: GroupShaping): Float64Array;
/**
 * Shapes a whole rollout, in the order of its samples. `groups` are the places of each prompt's samples.
 *
 * @example
 * shapeRewards({ rewards: [1, 0, 3, 3], groups: [[0, 1], [2, 3]], estimator: 'dr_grpo' }) // 0.5, -0.5, 0, 0
 */
export declare function shapeRewards(options: GroupShaping & {
    rewards: ArrayLike<number>;
    groups: readonly (readonly number[])[];
}): Float64Array;
