/** What a batch is summed up to, one number per sample. Of no samples there is no distribution: see {@link distribution}. */
export interface Distribution {
    readonly mean: number;
    readonly min: number;
    readonly max: number;
    readonly p50: number;
    readonly p80: number;
}
/**
 * Undefined for no values. Between two values a percentile lies on the straight line, as numpy's does.
 *
 * @example
 * distribution([1, 2, 3, 4, 10]) // mean 4, min 1, max 10, p50 3, p80 5.2
 */
export declare function distribution(values: ArrayLike<number>): Distribution | undefined;
/** Numbers of many tokens, where sorting them for percentiles would cost more than the rest. */
export interface TokenStatistics {
    readonly count: number;
    readonly mean: number;
    readonly std: number;
    readonly min: number;
    readonly max: number;
}
/** Over `values[sample][token]`; undefined for no tokens. */
export declare function tokenStatistics(values: readonly ArrayLike<number>[]): TokenStatistics | undefined;
/** How the rewards of a prompt's samples differ from each other. */
export interface GroupStatistics {
    readonly count: number;
    /** Groups whose members all earned the same: they teach a group estimator nothing. */
    readonly zeroVariance: number;
    readonly zeroVarianceShare: number;
    /** The mean over groups of the standard deviation inside each. */
    readonly std: number;
    /** The mean over groups of the best and of the worst reward. */
    readonly best: number;
    readonly worst: number;
}
/**
 * Undefined for no groups.
 *
 * @example
 * groupStatistics([[1, 0], [1, 1]]) // zeroVarianceShare 0.5, best 1, worst 0.5
 */
export declare function groupStatistics(rewards: readonly ArrayLike<number>[]): GroupStatistics | undefined;
