/**
 * Count, mean and sum of squared deviations of some numbers. Moments of parts merge into the moments of the whole, so a
 * statistic does not depend on how a rollout was split into micro-batches or workers.
 *
 * @example
 * const whole = mergeMoments(momentsOf([1, 2]), momentsOf([3]))
 * whole.mean // 2
 * sampleStd(whole) // 1
 */
export interface Moments {
    readonly count: number;
    readonly mean: number;
    /** Sum of the squared deviations from the mean. */
    readonly m2: number;
}
export declare const noMoments: Moments;
export declare function sum(values: ArrayLike<number>): number;
export declare function mean(values: ArrayLike<number>): number;
export declare function momentsOf(values: ArrayLike<number>): Moments;
export declare function mergeMoments(a: Moments, b: Moments): Moments;
/** The standard deviation with n - 1 below the fraction; 0 for fewer than two numbers, which have no spread. */
export declare function sampleStd({ count, m2 }: Moments): number;
