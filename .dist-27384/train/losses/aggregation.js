import { z } from 'zod';
import { checkTotal } from './inputs.js';
/** How the losses of tokens become one number. */
export const aggregations = [
    'seq-mean-token-mean',
    'token-mean',
    'seq-mean-token-sum',
    'seq-mean-token-sum-norm',
];
/**
 * The totals of a batch from the number of tokens of each sequence, which is known before any forward pass.
 *
 * @example
 * tokenTotals([3, 5]) // { sequences: 2, tokens: 8 }
 */
export function tokenTotals(lengths) {
    return { sequences: lengths.length, tokens: lengths.reduce((sum, length) => sum + length, 0) };
}
export const aggregationShape = {
    aggregation: z
        .enum(aggregations)
        .default('seq-mean-token-mean')
        .describe('how the losses of tokens become one number'),
    maxNewTokens: z
        .int()
        .min(1)
        .optional()
        .describe('tokens a response may have; what seq-mean-token-sum-norm divides by'),
};
/** For `superRefine`: the one aggregation that needs a length says so. */
export function refineAggregation(options, context) {
    if (options.aggregation === 'seq-mean-token-sum-norm' && options.maxNewTokens === undefined)
        context.addIssue({
            code: 'custom',
            path: ['maxNewTokens'],
            message: 'missing; seq-mean-token-sum-norm divides by it',
        });
}
/** What each token of a sequence of this length counts in the aggregate. */
export function tokenCoefficient(length, totals, options) {
    switch (options.aggregation) {
        case 'seq-mean-token-mean':
            return 1 / (length * totals.sequences);
        case 'token-mean':
            return 1 / totals.tokens;
        case 'seq-mean-token-sum':
            return 1 / totals.sequences;
        case 'seq-mean-token-sum-norm':
            return 1 / (totals.sequences * options.maxNewTokens);
    }
}
export function checkTokenTotals(totals, lengths) {
    const present = tokenTotals(lengths);
    checkTotal('sequences', totals.sequences, present.sequences);
    checkTotal('tokens', totals.tokens, present.tokens);
}
//# sourceMappingURL=aggregation.js.map