/** How tokens are chosen. Pure. */
/** Checks the parameters and fills in the defaults; a value that means nothing is a RangeError that names it. */
export function resolveSampling(params, { vocabSize, n, structured: forms = [] }) {
    const temperature = params.temperature ?? 1;
    // Field by field: a spread of whatever was given takes ten times as long, for every request.
    const resolved = {
        seed: params.seed,
        maxNewTokens: params.maxNewTokens,
        temperature,
        firstTemperature: params.firstTemperature ?? temperature,
        topK: params.topK ?? -1,
        topP: params.topP ?? 1,
        minP: params.minP ?? 0,
        minNewTokens: params.minNewTokens ?? 0,
        stopIds: params.stopIds ?? [],
        stop: params.stop ?? [],
        ignoreEos: params.ignoreEos ?? false,
        forbiddenIds: params.forbiddenIds ?? [],
        text: params.text,
        topLogprobs: params.topLogprobs,
        promptLogprobs: params.promptLogprobs,
        structured: params.structured,
        truncatePromptTokens: params.truncatePromptTokens,
    };
    const wrong = (name, expected) => {
        throw new RangeError(`${name} should be ${expected}, got ${JSON.stringify(resolved[name])}`);
    };
    const count = (value, least) => Number.isSafeInteger(value) && value >= least;
    const finite = (value) => Number.isFinite(value) && value >= 0;
    const known = (id) => count(id, 0) && id < vocabSize;
    const { maxNewTokens, firstTemperature, topK, topP, minP, truncatePromptTokens: cut } = resolved;
    const lengths = typeof maxNewTokens === 'number'
        ? count(maxNewTokens, 1)
        : maxNewTokens.length === n && maxNewTokens.every(max => count(max, 1));
    if (!Number.isSafeInteger(resolved.seed))
        wrong('seed', 'an integer');
    if (!lengths)
        wrong('maxNewTokens', `a positive integer, or ${n} of them, one for each sample`);
    if (!finite(temperature))
        wrong('temperature', 'a number of at least 0');
    if (!finite(firstTemperature))
        wrong('firstTemperature', 'a number of at least 0');
    if (topK !== -1 && !count(topK, 1))
        wrong('topK', 'a positive integer, or -1');
    if (!(topP > 0 && topP <= 1))
        wrong('topP', 'above 0 and at most 1');
    if (!(minP >= 0 && minP <= 1))
        wrong('minP', 'between 0 and 1');
    if (!count(resolved.minNewTokens, 0))
        wrong('minNewTokens', 'an integer of at least 0');
    if (!resolved.stopIds.every(known))
        wrong('stopIds', `ids below ${vocabSize}`);
    if (!resolved.forbiddenIds.every(known))
        wrong('forbiddenIds', `ids below ${vocabSize}`);
    if (!resolved.stop.every(text => typeof text === 'string' && text !== ''))
        wrong('stop', 'strings that are not empty');
    for (const name of ['topLogprobs', 'promptLogprobs']) {
        const wanted = resolved[name];
        if (wanted !== undefined && !(count(wanted, 0) && wanted <= vocabSize))
            wrong(name, 'a count of tokens');
    }
    const form = resolved.structured?.kind;
    if (form !== undefined && !forms.includes(form))
        throw new RangeError(`structured: this engine cannot hold a response to ${form}; it knows ${forms.length === 0 ? 'no form' : forms.join(', ')}`);
    if (cut !== undefined && !count(cut.limit, 1))
        wrong('truncatePromptTokens', 'a limit of at least 1');
    return resolved;
}
//# sourceMappingURL=sampling.js.map