import { attemptSeed } from './attempt-seed.js';
import { ProtocolError } from './errors.js';
export function isHot({ firstTemperature }, { maxTemperature }) {
    return firstTemperature > maxTemperature;
}
/** Refuses what cannot be drawn here as the server would. */
export function checkHot(sampling, limits) {
    if (!isHot(sampling, limits))
        return;
    const { topK, firstTemperature, ignoreEos } = sampling;
    const hot = `firstTemperature ${firstTemperature}: the server takes at most ${limits.maxTemperature}, so the first token is drawn here`;
    if (topK === -1 || topK > limits.topLogprobs)
        throw new RangeError(`${hot}, from the ${limits.topLogprobs} likeliest that it gives: set topK to at most that (vLLM: or start it with --max-logprobs)`);
    if (!ignoreEos && !limits.tokenizer)
        throw new RangeError(`${hot}, for which the end-of-sequence token must be known: give the engine a tokenizer`);
    if (sampling.structured)
        throw new RangeError(`${hot}, and cannot be held to a form`);
}
/** How the likeliest tokens are asked for: the model's own distribution, nothing filtered. */
export function hotQuestion(sampling, { topLogprobs }) {
    return { ...sampling, topK: -1, topP: 1, minP: 0, topLogprobs };
}
/** The server's answer to the question, with the token that was drawn in place of its own. */
export function drawHot(answer, { sampling, limits, promptId, sample }) {
    const [given] = answer.top ?? [];
    if (!given)
        throw new ProtocolError('no alternatives to a first token');
    const eosIds = sampling.ignoreEos ? [] : (limits.tokenizer?.stopIds ?? []);
    const stops = new Set([...eosIds, ...sampling.stopIds]);
    const never = new Set([...sampling.forbiddenIds, ...(sampling.minNewTokens > 0 ? stops : [])]);
    // 48 bits of a hash that no seed of a request is: those have an offset of at least 0.
    const uniform = attemptSeed(sampling.seed, promptId, sample, -1) / 2 ** 48;
    const { place, logprob } = draw(given, never, sampling, uniform);
    const id = given.ids[place];
    const isEos = id === eosIds[0] && !sampling.stopIds.includes(id);
    const { topLogprobs: shown } = sampling;
    return {
        ...answer,
        ids: [id],
        logprobs: [limits.logprobs === 'raw' ? given.logprobs[place] : logprob],
        top: shown === undefined
            ? undefined
            : [{ rank: place + 1, ids: given.ids.slice(0, shown), logprobs: given.logprobs.slice(0, shown) }],
        finish: stops.has(id) ? { reason: 'stop', stop: isEos ? undefined : id } : { reason: 'length', stop: undefined },
    };
}
/** One of the likeliest, after temperature, top-k, top-p and min-p, and its log-probability under them. */
function draw({ ids, logprobs }, never, { firstTemperature, topK, topP, minP }, uniform) {
    const places = [];
    for (let i = 0; i < ids.length && places.length < topK; i++)
        if (!never.has(ids[i]))
            places.push(i);
    if (places.length === 0)
        throw new ProtocolError('no token is left for a first one');
    const scaled = places.map(place => logprobs[place] / firstTemperature);
    let weights = scaled.map(value => Math.exp(value - scaled[0]));
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const all = sum(weights);
    let kept = 0;
    for (let mass = 0; kept < weights.length && mass < topP * all; kept++)
        mass += weights[kept];
    weights = weights.slice(0, Math.max(1, kept)).filter(weight => weight >= minP);
    const total = sum(weights);
    let left = uniform * total;
    let chosen = 0;
    while (chosen < weights.length - 1 && left >= weights[chosen])
        left -= weights[chosen++];
    return { place: places[chosen], logprob: Math.log(weights[chosen] / total) };
}
//# sourceMappingURL=hot-first-token.js.map