/**
 * What a sample's log-probabilities can be called: those of another meaning too, where the way of sampling makes them the same.
 *
 * @example
 * async function canWeigh(engine: Generator, sampling: ResolvedSampling): Promise<boolean> {
 *   return logprobsUnder(engine.capabilities.logprobs, sampling).includes('processed')
 * }
 */
export function logprobsUnder(reported, settings) {
    const { temperature, firstTemperature, topK, topP, minP, minNewTokens, forbiddenIds, structured } = settings;
    const unscaled = [temperature, firstTemperature].every(value => value === 0 || value === 1);
    const unmasked = minNewTokens === 0 && forbiddenIds.length === 0 && structured === undefined;
    const unfiltered = topK === -1 && topP === 1 && minP === 0;
    const known = new Set(reported);
    const same = (a, b) => {
        if (known.has(a))
            known.add(b);
        if (known.has(b))
            known.add(a);
    };
    if (unscaled && unmasked)
        same('raw', 'scaled');
    if (unfiltered)
        same('scaled', 'processed');
    if (unscaled && unmasked)
        same('raw', 'scaled');
    return ['raw', 'processed'].filter(meaning => known.has(meaning));
}
//# sourceMappingURL=logprob-meaning.js.map