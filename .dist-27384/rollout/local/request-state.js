import { randomKey } from '../random-key.js';
import { CachedSequence, Prefix } from './cached-sequence.js';
export class RequestState {
    request;
    promptIds;
    sampling;
    eosIds;
    listener;
    /** Shared by the samples; undefined where one sample computes its own. */
    prefix;
    scores;
    samples = [];
    arrived = performance.now();
    /** Ids that are never drawn, ascending, and those that are not until there are enough tokens: also what ends a response. */
    forbidden;
    forbiddenAtFirst;
    stops;
    constructor(request, promptIds, sampling, eosIds, listener) {
        this.request = request;
        this.promptIds = promptIds;
        this.sampling = sampling;
        this.eosIds = eosIds;
        this.listener = listener;
        const own = sampling.ignoreEos ? [] : eosIds;
        this.stops = new Set([...own, ...sampling.stopIds]);
        this.forbidden = ascending(sampling.forbiddenIds);
        this.forbiddenAtFirst =
            sampling.minNewTokens > 0 ? ascending([...sampling.forbiddenIds, ...this.stops]) : this.forbidden;
        const scored = sampling.promptLogprobs !== undefined;
        if (scored)
            this.scores = { logprobs: new Float32Array(promptIds.length - 1), top: [] };
        if (promptIds.length > 1 && ((request.n ?? 1) > 1 || scored))
            this.prefix = new PromptPrefix(this);
    }
    get promptId() {
        return this.request.promptId ?? this.request.id;
    }
    /** Rows before this one say what the prompt's log-probabilities are. */
    get scoredTo() {
        return this.scores ? this.promptIds.length - 1 : 0;
    }
    isStop(id) {
        return this.stops.has(id);
    }
    /** The prompt's first end-of-sequence token needs no mention; any other stop id does. */
    stopReason(id) {
        return id === this.eosIds[0] && !this.sampling.stopIds.includes(id) ? undefined : id;
    }
    /** What the row at `position` says about the prompt's next token. */
    promptSamplingRow(position) {
        const targetId = this.promptIds[position + 1];
        const top = this.sampling.promptLogprobs;
        // Field by field: there is one for each token, and a spread takes ten times as long.
        return {
            position,
            counter: 0,
            temperature: 1,
            topK: -1,
            topP: 1,
            minP: 0,
            key: noKey,
            targetId,
            forbidden: none,
            top,
        };
    }
}
const noKey = [0, 0];
const none = new Int32Array(0);
/** Most lists already are in this order, and there may be one with each request. */
function ascending(ids) {
    const array = Int32Array.from(ids);
    return array.every((id, i) => i === 0 || array[i - 1] < id) ? array : Int32Array.from(new Set(array.sort()));
}
export class PromptPrefix extends Prefix {
    requestState;
    constructor(requestState) {
        super(requestState.promptIds.length - 1, requestState.scoredTo);
        this.requestState = requestState;
    }
}
/** Numbers as they come, `most` of them at most. So many need no copy at the end, when a device may be waiting. */
class Growing {
    Values;
    most;
    length = 0;
    values;
    constructor(Values, most) {
        this.Values = Values;
        this.most = most;
        this.values = new Values(Math.min(16, most));
    }
    push(value) {
        if (this.length === this.values.length) {
            const { values } = this;
            this.values = new this.Values(Math.min(2 * this.length, this.most));
            this.values.set(values);
        }
        this.values[this.length++] = value;
    }
    at(index) {
        return this.values[index];
    }
    /** All of them; nothing is pushed afterwards. */
    whole() {
        return (this.length === this.values.length ? this.values : this.values.slice(0, this.length));
    }
}
export class SequenceState extends CachedSequence {
    requestState;
    index;
    maxNewTokens;
    response;
    raw;
    processed;
    top = [];
    versions = [];
    key;
    text;
    started;
    firstToken;
    constructor(requestState, index, maxNewTokens) {
        super(requestState.promptIds.length, requestState.prefix, requestState.scoredTo);
        this.requestState = requestState;
        this.index = index;
        this.maxNewTokens = maxNewTokens;
        this.response = new Growing(Int32Array, maxNewTokens);
        this.raw = new Growing(Float32Array, maxNewTokens);
        this.processed = new Growing(Float32Array, maxNewTokens);
        this.key = randomKey(requestState.sampling.seed, requestState.promptId, index);
    }
    /** Writes the tokens `start..start + count` at `at`. */
    copyTokens(start, count, into, at) {
        const { promptIds } = this.requestState;
        const known = promptIds.subarray(start, start + count);
        into.set(known, at);
        for (let i = known.length; i < count; i++)
            into[at + i] = this.response.at(start + i - promptIds.length);
    }
    samplingRow() {
        const { sampling, forbidden, forbiddenAtFirst } = this.requestState;
        const { topK, topP, minP, temperature, firstTemperature, topLogprobs = -1 } = sampling;
        return {
            position: this.length - 1,
            // The token's place in the sequence, prompt included: a response that was cut off goes on with the numbers it would have had.
            counter: this.length - 1,
            temperature: this.response.length === 0 ? firstTemperature : temperature,
            topK,
            topP,
            minP,
            key: this.key,
            targetId: -1,
            forbidden: this.response.length < sampling.minNewTokens ? forbiddenAtFirst : forbidden,
            top: topLogprobs,
        };
    }
    append(id, raw, processed, top, version) {
        const at = this.response.length;
        this.firstToken ??= performance.now();
        this.response.push(id);
        this.length++;
        this.raw.push(raw);
        this.processed.push(processed);
        if (top)
            this.top.push(top);
        const last = this.versions.at(-1);
        if (last?.version === version)
            last.end = at + 1;
        else
            this.versions.push({ version, start: at, end: at + 1 });
    }
    get identity() {
        const { request, promptId, sampling } = this.requestState;
        return { requestId: request.id, promptId, sample: this.index, seed: sampling.seed };
    }
    toSample(finishReason, stopReason, text, version) {
        const { requestState } = this;
        return {
            kind: 'completed',
            ...this.identity,
            promptIds: requestState.promptIds,
            responseIds: this.response.whole(),
            finishReason,
            stopReason,
            logprobs: { raw: this.raw.whole(), processed: this.processed.whole() },
            topLogprobs: requestState.sampling.topLogprobs === undefined ? undefined : this.top,
            promptLogprobs: requestState.scores,
            text,
            policyVersion: this.versions[0]?.version ?? version,
            versions: this.versions,
            timings: {
                startedMs: (this.started ?? performance.now()) - requestState.arrived,
                firstTokenMs: this.firstToken === undefined ? undefined : this.firstToken - requestState.arrived,
                finishedMs: performance.now() - requestState.arrived,
                preemptions: this.preemptions,
            },
        };
    }
}
//# sourceMappingURL=request-state.js.map