import { logprobsUnder } from '../logprob-meaning.js';
import { resolveSampling } from '../sampling.js';
import { checkHot } from './hot-first-token.js';
export class RequestTask {
    request;
    promptIds;
    sampling;
    listener;
    limits;
    arrived = performance.now();
    /** The ways its samples' log-probabilities may be called. */
    meanings;
    json;
    constructor(request, promptIds, sampling, listener, limits) {
        this.request = request;
        this.promptIds = promptIds;
        this.sampling = sampling;
        this.listener = listener;
        this.limits = limits;
        // A form is held to by taking logits away before anything is computed from them: what is raw elsewhere is not here.
        this.meanings = logprobsUnder([limits.logprobs], sampling).filter(meaning => meaning !== 'raw' || sampling.structured === undefined);
    }
    get promptId() {
        return this.request.promptId ?? this.request.id;
    }
    /** The prompt's ids as JSON, made once for all samples. */
    get idsJson() {
        this.json ??= `[${this.promptIds.join(',')}]`;
        return this.json;
    }
    maxNewTokens(index) {
        const { maxNewTokens: asked } = this.sampling;
        return Math.min(typeof asked === 'number' ? asked : asked[index], this.limits.maxLength - this.promptIds.length);
    }
}
/** A parameter that means nothing here is a RangeError; a prompt that cannot be answered is an outcome for each of its samples. */
export function admitRequest(request, listener, limits) {
    const { n = 1, firstSample = 0 } = request;
    if (!Number.isSafeInteger(n) || n < 1)
        throw new RangeError(`n should be a positive integer, got ${n}`);
    const { structured } = request.sampling;
    if (structured && limits.structuredNeeds !== undefined && !limits.structured.includes(structured.kind))
        throw new RangeError(`structured: to hold a response to ${structured.kind} takes ${limits.structuredNeeds}`);
    const sampling = resolveSampling(request.sampling, { vocabSize: limits.vocabSize, n, structured: limits.structured });
    checkSampling(sampling, limits);
    const promptIds = truncated(request.promptIds, sampling.truncatePromptTokens);
    const refused = refuse(request, promptIds, limits);
    if (!refused)
        return new RequestTask(request, promptIds, sampling, listener, limits);
    const { id: requestId, promptId = requestId } = request;
    const { seed } = sampling;
    return Array.from({ length: n }, (_, i) => ({ ...refused, requestId, promptId, sample: firstSample + i, seed }));
}
function checkSampling(sampling, limits) {
    if ((sampling.stop.length > 0 || sampling.text) && !limits.tokenizer)
        throw new RangeError('stop strings and text need an engine with a tokenizer');
    for (const name of ['topLogprobs', 'promptLogprobs'])
        if ((sampling[name] ?? 0) > limits.topLogprobs)
            throw new RangeError(`${name}: the server gives at most ${limits.topLogprobs}, got ${sampling[name]}`);
    if (sampling.temperature > limits.maxTemperature)
        throw new RangeError(`temperature: the server takes at most ${limits.maxTemperature}, got ${sampling.temperature}`);
    checkHot(sampling, limits);
}
function truncated(ids, cut) {
    if (!cut || ids.length <= cut.limit)
        return ids;
    return cut.side === 'right' ? ids.slice(0, cut.limit) : ids.slice(-cut.limit);
}
/** Before anything is sent: an id outside the vocabulary ends some servers, and with them everybody's requests. */
function refuse({ media = [] }, promptIds, { vocabSize, maxLength, maxPromptLength }) {
    const rejected = (reason, message) => ({ kind: 'rejected', reason, message });
    if (media.length > 0)
        return rejected('media-unsupported', 'this engine generates from text alone, not from images or videos');
    if (promptIds.length === 0)
        return rejected('empty-prompt', 'the prompt has no tokens');
    const longest = Math.min(maxPromptLength, maxLength - 1);
    if (promptIds.length > longest)
        return rejected('prompt-too-long', `the prompt has ${promptIds.length} tokens; the server takes at most ${longest}`);
    for (let i = 0; i < promptIds.length; i++) {
        const id = promptIds[i];
        if (!(id >= 0 && id < vocabSize))
            return rejected('token-out-of-range', `token id ${id}: the vocabulary ends at ${vocabSize - 1}`);
    }
    return undefined;
}
//# sourceMappingURL=request-task.js.map