import { z } from 'zod';
import { checkFlags, checkTokenInputs, checkTotal } from './inputs.js';
import { resolveOptions } from './options.js';
/** Supervised fine-tuning has nothing to choose: which tokens are trained is in the samples. */
export const sftLossSchema = z.strictObject({});
/** @example sftTotals([[0, 1, 1], [1]]) // { tokens: 3 } */
export function sftTotals(masks) {
    return { tokens: masks.reduce((sum, mask) => sum + trained(mask), 0) };
}
/** The mean negative log-probability over the trained tokens of the batch. */
export function sftLoss(call) {
    const { samples, totals, options = {} } = call;
    resolveOptions('sft', sftLossSchema, options);
    checkTokenInputs(samples, { needed: ['logprobs'] });
    checkFlags(samples, 'mask', 'logprobs');
    const { tokens } = sftTotals(samples.map(({ mask }) => mask));
    checkTotal('trained tokens', totals.tokens, tokens);
    const coefficient = totals.tokens === 0 ? 0 : 1 / totals.tokens;
    let value = 0;
    const gradients = samples.map(({ logprobs, mask }) => {
        const gradient = new Float64Array(logprobs.length);
        let sum = 0;
        for (let t = 0; t < gradient.length; t++)
            if (mask[t]) {
                sum += logprobs[t];
                gradient[t] = -coefficient;
            }
        value -= coefficient * sum;
        return { logprobs: gradient };
    });
    return { value, gradients, statistics: { tokens } };
}
function trained(mask) {
    let count = 0;
    for (let t = 0; t < mask.length; t++)
        if (mask[t])
            count++;
    return count;
}
//# sourceMappingURL=sft.js.map