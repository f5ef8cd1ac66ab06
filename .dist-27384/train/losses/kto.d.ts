import { z } from 'zod';
import { type Named } from './inputs.js';
export declare const ktoLossSchema: z.ZodObject<{
    beta: z.ZodDefault<z.ZodNumber>;
    desirableWeight: z.ZodDefault<z.ZodNumber>;
    undesirableWeight: z.ZodDefault<z.ZodNumber>;
}, z.core.$strict>;
export type KtoLossOptions = z.input<typeof ktoLossSchema>;
/** Log-probabilities of a whole response, summed over its tokens. */
export interface ResponseLogprobs extends Named {
    readonly policy: number;
    readonly ref: number;
}
export interface KtoSample extends ResponseLogprobs {
    readonly desirable: boolean;
}
/** Responses of the whole batch, and the point of reference that all of them are compared with. */
export interface KtoTotals {
    readonly responses: number;
    readonly z0: number;
}
/**
 * The totals of a batch. `mismatched` are the log-probabilities of responses under prompts of others, by the policy as it is
 * before the step: an estimate of its KL to the reference, taken as a constant.
 *
 * @example
 * ktoTotals({ responses: 2, mismatched: [{ policy: -9, ref: -10 }, { policy: -8, ref: -8.5 }] }) // { responses: 2, z0: 0.75 }
 */
export declare function ktoTotals(batch: {
    responses: number;
    mismatched: readonly ResponseLogprobs[];
}): KtoTotals;
export interface KtoStatistics {
    readonly desirable: number;
    readonly undesirable: number;
    /** Mean implicit rewards, beta (policy - reference). */
    readonly desirableRewardMean: number;
    readonly undesirableRewardMean: number;
}
export declare function mergeKtoStatistics(parts: readonly KtoStatistics[]): KtoStatistics;
export interface KtoLossResult {
    readonly value: number;
    /** With respect to a response's sum, which is the gradient of each of its tokens' log-probabilities. */
    readonly gradients: readonly {
        readonly policy: number;
    }[];
    readonly statistics: KtoStatistics;
}
/** Responses that are labelled one by one: raised above z0 where they are desirable, lowered where they are not. */
export declare function ktoLoss(call: {
    samples: readonly KtoSample[];
    totals: KtoTotals;
    options: KtoLossOptions;
}): KtoLossResult;
