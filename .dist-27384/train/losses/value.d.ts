import { z } from 'zod';
import { type TokenTotals } from './aggregation.js';
import { type Named } from './inputs.js';
export declare const valueLossSchema: z.ZodObject<{
    aggregation: z.ZodDefault<z.ZodEnum<{
        "seq-mean-token-mean": "seq-mean-token-mean";
        "seq-mean-token-sum": "seq-mean-token-sum";
        "seq-mean-token-sum-norm": "seq-mean-token-sum-norm";
        "token-mean": "token-mean";
    }>>;
    maxNewTokens: z.ZodOptional<z.ZodInt>;
    valueClip: z.ZodDefault<z.ZodNullable<z.ZodNumber>>;
}, z.core.$strict>;
export type ValueLossOptions = z.input<typeof valueLossSchema>;
export interface ValueSample extends Named {
    /** Of the critic being trained. */
    readonly values: ArrayLike<number>;
    /** When the rollout was scored; needed with `valueClip`. */
    readonly oldValues?: ArrayLike<number> | undefined;
    readonly returns: ArrayLike<number>;
}
export interface ValueStatistics {
    readonly tokens: number;
    /** Share of the tokens whose clipped value is the one that counts: they have no gradient. */
    readonly clipShare: number;
    /** Mean of value minus return. */
    readonly errorMean: number;
}
export declare function mergeValueStatistics(parts: readonly ValueStatistics[]): ValueStatistics;
export interface ValueLossResult {
    readonly value: number;
    readonly gradients: readonly {
        readonly values: Float64Array;
    }[];
    readonly statistics: ValueStatistics;
}
/**
 * Half the squared distance of values to returns, or with `valueClip` the larger of that and the clipped value's: a critic gets
 * no credit for moving further. Where both are equal, the value itself counts.
 *
 * @example
 * const samples = [{ values: [0.5], oldValues: [0.4], returns: [1] }]
 * valueLoss({ samples, totals: tokenTotals([1]), options: { valueClip: 0.2 } }) // value 0.125, gradient -0.5
 */
export declare function valueLoss(call: {
    samples: readonly ValueSample[];
    totals: TokenTotals;
    options: ValueLossOptions;
}): ValueLossResult;
/**
 * How much of the variance of the returns the values explain, over all tokens of a batch: 1 for a perfect critic, 0 for one
 * that might as well give the mean, and undefined where all returns are equal.
 */
export declare function explainedVariance(samples: readonly {
    readonly values: ArrayLike<number>;
    readonly returns: ArrayLike<number>;
}[]): number | undefined;
