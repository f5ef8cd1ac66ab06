import { highEntropyMask } from '../../experience/index.js';
import { checkTokenTotals, tokenCoefficient } from './aggregation.js';
import { importanceWeights } from './importance.js';
import { checkFlags, checkTokenGradient, checkTokenInputs } from './inputs.js';
import { resolveOptions } from './options.js';
import { policySchemas } from './policy-options.js';
import { policyTerm } from './policy-terms.js';
import { mergeStatistics, share } from './statistics.js';
const merging = {
    sequences: 'sum',
    tokens: 'sum',
    keptTokens: 'sum',
    clipLowShare: 'keptTokens',
    clipHighShare: 'keptTokens',
    dualClipShare: 'keptTokens',
    approxKl: 'tokens',
    ratioMean: 'tokens',
    ratioMax: 'max',
    importanceMean: 'tokens',
    importanceCappedShare: 'tokens',
    importanceAltered: 'sum',
};
export function mergePolicyStatistics(parts) {
    const { importanceAltered, ...merged } = mergeStatistics(parts, merging);
    return merged.importanceMean === undefined ? merged : { ...merged, importanceAltered: importanceAltered };
}
/**
 * The policy loss of some responses of a batch and its gradient with respect to their log-probabilities.
 *
 * @example
 * const samples = [{ logprobs: [-1, -0.4], oldLogprobs: [-1.1, -0.5], advantages: [0.5, 0.5] }]
 * const { value, gradients } = policyLoss({ samples, totals: tokenTotals([2]), options: { loss: 'ppo', clipHigh: 0.28 } })
 */
export function policyLoss(call) {
    const { loss, ...given } = call.options;
    const schema = policySchemas[loss];
    if (!schema)
        throw new RangeError(`there is no policy loss "${loss}"; there are ${Object.keys(policySchemas).join(', ')}`);
    return resolvedPolicyLoss({
        ...call,
        options: { loss, ...resolveOptions(loss, schema, given) },
    });
}
/** With options that have been through their schema. */
export function resolvedPolicyLoss(call) {
    const { samples, totals, options } = call;
    check(samples, totals, options);
    const term = policyTerm(options);
    const longest = samples.reduce((longest, { logprobs }) => Math.max(longest, logprobs.length), 0);
    const logRatios = new Float64Array(longest);
    const ratios = new Float64Array(longest);
    const coefficients = new Float64Array(longest);
    const clipped = { low: 0, high: 0, dual: 0 };
    const importance = { sum: 0, capped: 0, altered: 0 };
    let [value, tokens, keptTokens, ratioSum, ratioMax, klSum] = [0, 0, 0, 0, 0, 0];
    const gradients = samples.map((sample, place) => {
        const { logprobs, oldLogprobs = logprobs, advantages } = sample;
        const { length } = logprobs;
        const moved = fillRatios({ logprobs, oldLogprobs, logRatios, ratios });
        ratioSum += moved.sum;
        ratioMax = Math.max(ratioMax, moved.max);
        klSum += moved.kl;
        tokens += length;
        keptTokens += fillCoefficients(sample, { coefficients, importance, totals, options });
        const gradient = new Float64Array(length);
        const part = term({ length, logprobs, advantages, logRatios, ratios, coefficients, gradient, counts: clipped });
        checkTokenGradient(sample, place, gradient, part);
        value += part;
        return { logprobs: gradient };
    });
    const statistics = {
        sequences: samples.length,
        tokens,
        keptTokens,
        clipLowShare: share(clipped.low, keptTokens),
        clipHighShare: share(clipped.high, keptTokens),
        dualClipShare: share(clipped.dual, keptTokens),
        approxKl: share(klSum, tokens),
        ratioMean: share(ratioSum, tokens),
        ratioMax,
        ...(options.tisCap === null
            ? {}
            : {
                importanceMean: share(importance.sum, tokens),
                importanceCappedShare: share(importance.capped, tokens),
                importanceAltered: importance.altered,
            }),
    };
    return { value, gradients, statistics };
}
/** The ratios of a response, and what statistics need of them. */
function fillRatios(response) {
    const { logprobs, oldLogprobs, logRatios, ratios } = response;
    let [sum, max, kl] = [0, 0, 0];
    for (let t = 0; t < logprobs.length; t++) {
        const d = logprobs[t] - oldLogprobs[t];
        const ratio = Math.exp(d);
        logRatios[t] = d;
        ratios[t] = ratio;
        sum += ratio;
        if (ratio > max)
            max = ratio;
        // Rounding can leave a ratio next to 1 a little below its tangent.
        kl += Math.max(0, ratio - 1 - d);
    }
    return { sum, max, kl };
}
/** What each token's loss counts, and how many count at all. */
function fillCoefficients(sample, batch) {
    const { coefficients, importance, totals, options } = batch;
    const { length } = sample.logprobs;
    const coefficient = tokenCoefficient(length, totals, options);
    const { tisCap, highEntropyTokenRatio: ratio } = options;
    if (tisCap === null)
        coefficients.fill(coefficient, 0, length);
    else {
        const { oldLogprobs, engineLogprobs, altered } = sample;
        const counts = importance;
        importanceWeights({
            oldLogprobs: oldLogprobs,
            engineLogprobs: engineLogprobs,
            altered,
            tisCap,
            weights: coefficients,
            counts,
        });
        for (let t = 0; t < length; t++)
            coefficients[t] *= coefficient;
    }
    const mask = sample.lossMask ?? (isFilter(ratio) ? highEntropyMask(sample.entropies, ratio) : undefined);
    if (!mask)
        return length;
    let kept = 0;
    for (let t = 0; t < length; t++)
        if (mask[t])
            kept++;
        else
            coefficients[t] = 0;
    return kept;
}
const isFilter = (highEntropyTokenRatio) => highEntropyTokenRatio > 0 && highEntropyTokenRatio < 1;
function check(samples, totals, options) {
    const { tisCap, highEntropyTokenRatio } = options;
    const needed = ['logprobs', 'advantages'];
    if (tisCap !== null)
        needed.push('oldLogprobs', 'engineLogprobs');
    if (isFilter(highEntropyTokenRatio))
        needed.push('entropies');
    checkTokenInputs(samples, { needed, optional: ['oldLogprobs'] });
    checkFlags(samples, 'altered', 'logprobs');
    checkFlags(samples, 'lossMask', 'logprobs');
    if (isFilter(highEntropyTokenRatio) && samples.some(({ lossMask }) => lossMask))
        throw new RangeError(`${options.loss}: samples have a lossMask, and highEntropyTokenRatio ${highEntropyTokenRatio} asks for another; leave out one`);
    checkTokenTotals(totals, samples.map(({ logprobs }) => logprobs.length));
}
//# sourceMappingURL=policy.js.map