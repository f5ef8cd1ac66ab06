/** One HTTP request's prompts through the engine: samples for a plain answer, tokens as they come for a stream. */
import { randomUUID } from 'node:crypto';
import { ApiError, badRequest } from './errors.js';
import { requestCost } from './request-cost.js';
import { anySeed } from './sampling-fields.js';
/** What a prompt becomes where it is to be truncated. */
const lengthOf = (prompt, { params: { truncatePromptTokens: cut } }) => Math.min(prompt.length, cut?.limit ?? prompt.length);
export function costOf({ prompts, sampling, maxTokens, logprobs }, maxLength) {
    return requestCost({
        promptLengths: prompts.map(prompt => lengthOf(prompt, sampling)),
        n: sampling.n,
        maxLength,
        maxTokens,
        logprobs,
        promptLogprobs: sampling.params.promptLogprobs,
    });
}
/** Refuses, as vLLM words it, what the engine would reject. */
export function checkPrompts({ prompts, maxTokens, sampling }, limits) {
    const { vocabSize, maxLength } = limits;
    if (maxTokens !== undefined && maxTokens > maxLength)
        throw badRequest(`max_tokens=${maxTokens} cannot be greater than max_model_len=${maxLength}. Please request fewer output tokens.`, 'max_tokens');
    if (maxTokens !== undefined && maxTokens < 1)
        throw badRequest(`max_tokens must be at least 1, got ${maxTokens}.`, 'max_tokens');
    const { minNewTokens = 0, stopIds = [], forbiddenIds = [] } = sampling.params;
    if (maxTokens !== undefined && minNewTokens > maxTokens)
        throw badRequest(`min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minNewTokens}.`, 'min_tokens');
    for (const ids of [stopIds, forbiddenIds, ...prompts]) {
        const stray = outside(ids, vocabSize);
        if (stray !== undefined)
            throw badRequest(`Token id ${stray} is out of vocabulary`);
    }
    checkChoice(sampling, limits);
    for (const prompt of prompts) {
        const length = lengthOf(prompt, sampling);
        if (length > maxLength)
            throw tooLong(length, maxLength);
        if (length === maxLength)
            throw badRequest(`max_tokens must be at least 1, got 0. The prompt fills the context of ${maxLength}.`, 'max_tokens');
    }
}
export const tooLong = (length, maxLength) => badRequest(`This model's maximum context length is ${maxLength} tokens. However, your prompt contains ${length} input tokens, please reduce the length of the input prompt.`, 'input_tokens');
function outside(ids, vocabSize) {
    for (let i = 0; i < ids.length; i++)
        if (!(ids[i] >= 0 && ids[i] < vocabSize))
            return ids[i];
    return undefined;
}
/** Something has to be left to sample: with `min_tokens` the first tokens are none that end a response. */
function checkChoice({ params }, { vocabSize, eosIds }) {
    const { minNewTokens = 0, stopIds = [], forbiddenIds = [] } = params;
    if (forbiddenIds.length === 0)
        return;
    const never = new Set(forbiddenIds);
    if (minNewTokens > 0)
        for (const id of [...stopIds, ...eosIds])
            never.add(id);
    if (never.size >= vocabSize)
        throw badRequest(`logit_bias forbids every token: of ${vocabSize} none is left to sample.`, 'logit_bias');
}
const failureStatus = {
    'non-finite': 500,
    engine: 500,
    protocol: 502,
    unreachable: 503,
    timeout: 504,
};
/** Resolves when every sample has ended; a signal cancels them. Throws where a sample failed. */
export async function runGeneration({ engine, inFlight, turns }, request, progress, signal) {
    signal.throwIfAborted();
    const requests = requestsOf(request, engine);
    const flight = inFlight.add(request.id, requests.map(({ id }) => id));
    const cancel = () => flight.abort();
    signal.addEventListener('abort', cancel);
    let leave;
    try {
        leave = await turns?.enter(request.weights, flight.signal).catch(error => {
            // Ended before its turn came.
            if (!flight.signal.aborted)
                throw error;
            return undefined;
        });
        const ended = await follow(engine, requests, flight, progress);
        for (const [prompt, { n = 1 }] of requests.entries())
            for (let sample = 0; sample < n; sample++)
                if (!ended.has(`${prompt}/${sample}`))
                    progress.onSample(prompt, unsampled(requests[prompt], sample, engine));
    }
    catch (error) {
        throw error instanceof RangeError ? badRequest(error.message) : error;
    }
    finally {
        leave?.();
        signal.removeEventListener('abort', cancel);
        flight.land();
    }
    signal.throwIfAborted();
}
function requestsOf({ prompts, sampling, maxTokens, topLogprobs }, engine) {
    const { params, n, seed } = sampling;
    // A client may give two requests one name; in the engine each has its own.
    const name = randomUUID();
    return prompts.map((promptIds, i) => ({
        id: `${name}-${i}`,
        // With a seed of the client's own nothing else names the stream: the same request gives the same tokens.
        promptId: '',
        promptIds,
        n,
        sampling: {
            ...params,
            seed: seed ?? anySeed(),
            maxNewTokens: maxTokens ?? engine.maxLength,
            ...(topLogprobs === undefined ? {} : { topLogprobs }),
        },
    }));
}
/** Gives what the engine says to whom it concerns, and answers with the samples that have an outcome. */
async function follow(engine, requests, flight, { onToken, onSample }) {
    const ended = new Set();
    if (flight.signal.aborted)
        return ended;
    const indexOf = new Map(requests.map(({ id }, i) => [id, i]));
    function* source() {
        for (const [i, request] of requests.entries())
            if (!flight.isAborted(i))
                yield request;
    }
    const options = {
        signal: flight.signal,
        ...(onToken ? { onToken: (event) => onToken(indexOf.get(event.requestId), event) } : {}),
    };
    for await (const outcome of engine.generate(source(), options)) {
        if (outcome.kind === 'rejected')
            throw badRequest(outcome.message);
        if (outcome.kind === 'failed')
            throw new ApiError(failureStatus[outcome.reason], outcome.message);
        const prompt = indexOf.get(outcome.requestId);
        ended.add(`${prompt}/${outcome.sample}`);
        onSample(prompt, outcome);
    }
    return ended;
}
/** A sample that was ended before the engine had taken it. */
function unsampled({ id, promptIds, sampling }, sample, engine) {
    return {
        kind: 'completed',
        ...{ requestId: id, promptId: '', sample, seed: sampling.seed, promptIds },
        responseIds: new Int32Array(0),
        finishReason: 'abort',
        stopReason: undefined,
        logprobs: {},
        topLogprobs: undefined,
        promptLogprobs: sampling.promptLogprobs === undefined ? undefined : { logprobs: new Float32Array(0), top: [] },
        text: sampling.text === undefined ? undefined : '',
        policyVersion: engine.policyVersion,
        versions: [],
        timings: { startedMs: 0, firstTokenMs: undefined, finishedMs: 0, preemptions: 0 },
    };
}
/** A prompt counts once, however many samples it has. */
export function usage(found, { sampling: { n } }, tokens) {
    const prompt = found.reduce((sum, { promptIds }, i) => sum + (i % n === 0 ? promptIds.length : 0), 0);
    const completion = tokens ?? found.reduce((sum, { responseIds }) => sum + responseIds.length, 0);
    return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion };
}
//# sourceMappingURL=run-request.js.map