import { z } from 'zod';
import { checkNumberGradient, checkNumberInputs, checkTotal } from './inputs.js';
import { resolveOptions } from './options.js';
import { logSigmoid, sigmoid } from './sigmoid.js';
import { mergeStatistics, share } from './statistics.js';
export const rewardModelLossSchema = z.strictObject({
    margin: z.number().min(0).default(0).describe('how far apart the scores of a pair should be'),
    rankingWeight: z.number().min(0).default(1).describe('what the ranking term, which knows the margin, counts'),
    contrastiveWeight: z
        .number()
        .min(0)
        .default(0)
        .describe('what the contrastive term, a choice between scores / temperature, counts'),
    temperature: z.number().positive().default(1).describe('of the contrastive term'),
    centerCoef: z.number().min(0).default(0).describe('cost of scores whose sum is far from 0'),
});
export function mergeRewardModelStatistics(parts) {
    return mergeStatistics(parts, { pairs: 'sum', accuracy: 'pairs', chosenMean: 'pairs', rejectedMean: 'pairs' });
}
/**
 * The ranking loss of a reward model: the mean of -log sigmoid(chosen - rejected - margin), plus `centerCoef` times the square of
 * chosen + rejected, which keeps scores near 0. With a `contrastiveWeight`, -log sigmoid((chosen - rejected) / temperature) too.
 *
 * @example
 * rewardModelLoss({ samples: [{ chosen: 1, rejected: 0 }], totals: { pairs: 1 }, options: {} }).value // 0.3133
 */
export function rewardModelLoss(call) {
    const { totals } = call;
    const { margin, centerCoef, rankingWeight, contrastiveWeight, temperature } = resolveOptions('reward-model', rewardModelLossSchema, call.options);
    const samples = call.samples.map(sample => ({ ...sample, margin: sample.margin ?? margin }));
    checkNumberInputs(samples, ['chosen', 'rejected', 'margin']);
    checkTotal('pairs', totals.pairs, samples.length);
    const coefficient = 1 / totals.pairs;
    let [value, right, chosenSum, rejectedSum] = [0, 0, 0, 0];
    const gradients = samples.map((sample, place) => {
        const { chosen, rejected } = sample;
        const distance = chosen - rejected - sample.margin;
        const sum = chosen + rejected;
        const contrast = (chosen - rejected) / temperature;
        const loss = -rankingWeight * logSigmoid(distance) - contrastiveWeight * logSigmoid(contrast) + centerCoef * sum * sum;
        const pull = rankingWeight * sigmoid(-distance) + (contrastiveWeight / temperature) * sigmoid(-contrast);
        const center = 2 * centerCoef * sum;
        checkNumberGradient(sample, place, loss, center);
        value += coefficient * loss;
        if (chosen > rejected)
            right++;
        chosenSum += chosen;
        rejectedSum += rejected;
        return { chosen: coefficient * (center - pull), rejected: coefficient * (center + pull) };
    });
    const pairs = samples.length;
    return {
        value,
        gradients,
        statistics: {
            pairs,
            accuracy: share(right, pairs),
            chosenMean: share(chosenSum, pairs),
            rejectedMean: share(rejectedSum, pairs),
        },
    };
}
//# sourceMappingURL=reward-model.js.map