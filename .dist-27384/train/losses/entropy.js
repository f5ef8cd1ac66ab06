import { z } from 'zod';
import { aggregationShape, checkTokenTotals, refineAggregation, tokenCoefficient, } from './aggregation.js';
import { checkTokenInputs } from './inputs.js';
import { resolveOptions } from './options.js';
export const entropyLossSchema = z.strictObject(aggregationShape).superRefine(refineAggregation);
/** The entropy bonus as a loss: minus the aggregate of the entropies, so that less loss is more entropy. */
export function entropyLoss(call) {
    return resolvedEntropyLoss({ ...call, options: resolveOptions('entropy', entropyLossSchema, call.options) });
}
export function resolvedEntropyLoss(call) {
    const { samples, totals, options } = call;
    checkTokenInputs(samples, { needed: ['entropies'] });
    const lengths = samples.map(({ entropies }) => entropies.length);
    checkTokenTotals(totals, lengths);
    let value = 0;
    const gradients = samples.map(({ entropies }) => {
        const { length } = entropies;
        const coefficient = tokenCoefficient(length, totals, options);
        let sum = 0;
        for (let t = 0; t < length; t++)
            sum += entropies[t];
        value -= coefficient * sum;
        return { entropies: new Float64Array(length).fill(-coefficient) };
    });
    return { value, gradients, statistics: { tokens: lengths.reduce((a, b) => a + b, 0) } };
}
//# sourceMappingURL=entropy.js.map