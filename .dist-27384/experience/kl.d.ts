/** How the divergence from the reference is estimated from the sampled token, d = logprob - reference logprob. */
export declare const klEstimators: readonly ['k1', 'k2', 'k3'];
export type KlEstimator = (typeof klEstimators)[number];
/**
 * KL per token: k1 = d (unbiased, may be negative), k2 = d²/2, k3 = exp(-d) - 1 + d (unbiased, never negative).
 *
 * @example
 * tokenKl({ logprobs: [-1, -0.5], refLogprobs: [-1.2, -0.4], estimator: 'k1' }) // 0.2, -0.1
 */
export declare function tokenKl(options: {
    logprobs: ArrayLike<number>;
    refLogprobs: ArrayLike<number>;
    estimator: KlEstimator;
}): Float64Array;
/** The measured KL of a rollout: the mean over samples of the mean over tokens. The adaptive controller sees this one. */
export declare function meanKl(kl: readonly ArrayLike<number>[]): number;
