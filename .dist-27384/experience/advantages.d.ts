import { type AdvantageEstimator } from './estimators.js';
/** One number per token of a response each. */
export interface TokenAdvantages {
    readonly advantages: Float64Array;
    readonly returns: Float64Array;
}
/**
 * Generalised advantage estimation. Nothing is expected after the last token, whether the response ended by itself or was cut.
 *
 * @example
 * gaeAdvantages({ rewards: [-0.02, 1.01], values: [0.2, 0.4], gamma: 1, lambd: 0.95 }) // advantages 0.7595, 0.61
 */
export declare function gaeAdvantages(options: {
    rewards: ArrayLike<number>;
    values: ArrayLike<number>;
    gamma: number;
    lambd: number;
}): TokenAdvantages;
/** What a response still earns from each token on. */
export declare function discountedReturns(rewards: ArrayLike<number>, gamma: number): Float64Array;
/**
 * Advantages and returns of one response by the estimator's name, from its token rewards (the group's comparison is in them
 * already). Arrays of their own: what changes advantages afterwards leaves returns alone.
 */
export declare function advantagesAndReturns(options: {
    estimator: AdvantageEstimator;
    rewards: ArrayLike<number>;
    /** The critic's, per token; for `gae` alone. */
    values?: ArrayLike<number> | undefined;
    gamma: number;
    lambd: number;
}): TokenAdvantages;
/**
 * Brings the advantages of a whole rollout, `advantages[sample][token]`, to mean 0 and standard deviation 1 over all its tokens,
 * in place. The one normalisation there is; where all advantages are equal they become 0.
 */
export declare function whitenInPlace(advantages: readonly Float64Array[]): void;
/** Clamps `advantages[sample][token]` to ±limit in place; answers with the share of tokens that lay outside. */
export declare function clipAdvantagesInPlace(advantages: readonly Float64Array[], limit: number): number;
