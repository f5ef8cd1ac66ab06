import { answersOf } from './aggregated.js';
import { defaultLimits, resolveLimits } from './source.js';
/**
 * A reward from a function of one sample, sync or async.
 *
 * @example
 * const brief = sampleReward(({ response }) => (response.length < 400 ? 1 : 0), { name: 'brief' })
 */
export function sampleReward(fn, options = {}) {
    const { name = fn.name || 'reward', ...limits } = options;
    // Its own size of batches is no choice here: an answer belongs to one sample.
    return {
        name,
        kind: 'function',
        limits: resolveLimits(name, defaultLimits.function, { ...limits, batchSize: 1 }),
        score: async ([input], context) => [await fn(input, context)],
    };
}
/** A reward from a function of many samples; `batchSize` bounds how many. */
export function batchReward(fn, options = {}) {
    const { name = fn.name || 'reward', ...limits } = options;
    return {
        name,
        kind: 'function',
        limits: resolveLimits(name, defaultLimits.batchFunction, limits),
        score: async (inputs, context) => {
            const given = await fn(inputs, context);
            return isAggregated(given) ? answersOf(given, inputs.length) : given;
        },
    };
}
/** A reward from a function with LightRFT's arguments. */
export function customReward(fn, options = {}) {
    const asBatch = inputs => fn(inputs.map(input => input.query), inputs.map(input => input.promptRaw), inputs.map(input => input.label), inputs);
    return batchReward(asBatch, { ...options, name: options.name ?? (fn.name || 'customRewardFunc') });
}
/** What else a function may return is for the caller to judge. */
function isAggregated(value) {
    return typeof value === 'object' && value !== null && 'rewards' in value;
}
//# sourceMappingURL=function-source.js.map