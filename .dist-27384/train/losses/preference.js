import { z } from 'zod';
import { checkNumberGradient, checkNumberInputs, checkTotal } from './inputs.js';
import { resolveOptions } from './options.js';
import { logSigmoid, sigmoid } from './sigmoid.js';
import { mergeStatistics, share } from './statistics.js';
const beta = z.number().positive().default(0.1).describe('how strongly the policy is held to the reference');
/** The options of each loss on pairs. */
export const preferenceSchemas = {
    dpo: z.strictObject({
        beta,
        labelSmoothing: z
            .number()
            .min(0)
            .lt(0.5)
            .default(0)
            .describe('share of the pairs whose labels are taken to be wrong'),
    }),
    cdpo: z.strictObject({
        beta,
        labelSmoothing: z.number().gt(0).lt(0.5).describe('share of the pairs whose labels are taken to be wrong, not 0'),
    }),
    ipo: z.strictObject({
        beta,
        ipoLogprobs: z
            .enum(['mean', 'sum'])
            .default('mean')
            .describe("log-probability of a response: the mean over its tokens (as the method's authors and TRL do), or the sum"),
    }),
};
export function mergePreferenceStatistics(parts) {
    return mergeStatistics(parts, {
        pairs: 'sum',
        accuracy: 'pairs',
        chosenRewardMean: 'pairs',
        rejectedRewardMean: 'pairs',
    });
}
/**
 * Direct preference optimisation and its relatives, the mean over the pairs of a batch.
 *
 * @example
 * const samples = [{ policyChosen: -10, policyRejected: -12, refChosen: -11, refRejected: -11 }]
 * preferenceLoss({ samples, totals: { pairs: 1 }, options: { loss: 'dpo', beta: 0.1 } }).value // 0.5981
 */
export function preferenceLoss(call) {
    const { samples, totals, options } = call;
    const { loss, ...given } = options;
    const schema = preferenceSchemas[loss];
    if (!schema)
        throw new RangeError(`there is no preference loss "${loss}"; there are ${Object.keys(preferenceSchemas).join(', ')}`);
    const resolved = resolveOptions(loss, schema, given);
    const { beta, labelSmoothing = 0, ipoLogprobs } = resolved;
    const term = loss === 'ipo' ? (l) => ipo(l, beta) : (l) => dpo(l, beta, labelSmoothing);
    checkNumberInputs(samples, ['policyChosen', 'policyRejected', 'refChosen', 'refRejected']);
    const perToken = ipoLogprobs === 'mean';
    if (perToken)
        checkCounts(samples);
    checkTotal('pairs', totals.pairs, samples.length);
    const coefficient = 1 / totals.pairs;
    let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0];
    const gradients = samples.map((sample, place) => {
        const chosen = sample.policyChosen - sample.refChosen;
        const rejected = sample.policyRejected - sample.refRejected;
        const chosenWeight = perToken ? 1 / sample.chosenTokens : 1;
        const rejectedWeight = perToken ? 1 / sample.rejectedTokens : 1;
        const one = term(chosenWeight * chosen - rejectedWeight * rejected);
        checkNumberGradient(sample, place, one.value, one.slope);
        value += coefficient * one.value;
        if (chosen > rejected)
            right++;
        chosenSum += beta * chosen;
        rejectedSum += beta * rejected;
        return {
            policyChosen: coefficient * one.slope * chosenWeight,
            policyRejected: -coefficient * one.slope * rejectedWeight,
        };
    });
    const pairs = samples.length;
    return {
        value,
        gradients,
        statistics: {
            pairs,
            accuracy: share(right, pairs),
            chosenRewardMean: share(chosenSum, pairs),
            rejectedRewardMean: share(rejectedSum, pairs),
        },
    };
}
function checkCounts(samples) {
    for (const [place, sample] of samples.entries())
        for (const field of ['chosenTokens', 'rejectedTokens']) {
            const count = sample[field];
            if (Number.isSafeInteger(count) && count >= 1)
                continue;
            const found = count === undefined ? 'missing' : `expected an integer of at least 1, got ${count}`;
            throw new RangeError(`sample ${sample.name ?? place}: ${field}: ${found}; ipoLogprobs mean divides by it`);
        }
}
function dpo(l, beta, labelSmoothing) {
    const x = beta * l;
    return {
        value: -(1 - labelSmoothing) * logSigmoid(x) - labelSmoothing * logSigmoid(-x),
        slope: beta * (labelSmoothing * sigmoid(x) - (1 - labelSmoothing) * sigmoid(-x)),
    };
}
function ipo(l, beta) {
    const distance = l - 1 / (2 * beta);
    return { value: distance * distance, slope: 2 * distance };
}
//# sourceMappingURL=preference.js.map