/**
 * Clamps numbers to ±limit in place, and counts first: after the clamp nothing lies outside any more. A limit of 0 clips nothing.
 *
 * @example
 * const rewards = Float64Array.of(0.5, 3, -7, 1)
 * clipInPlace(rewards, 2) // 2 were outside; rewards are now 0.5, 2, -2, 1
 */
export declare function clipInPlace(values: Float64Array, limit: number): number;
