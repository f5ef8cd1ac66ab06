import { attemptSeed } from './attempt-seed.js';
import { drawHot, hotQuestion, isHot } from './hot-first-token.js';
import { SampleRecord } from './sample-record.js';
import { finalText, SampleText } from './sample-text.js';
export class SampleTask {
    request;
    sample;
    record = new SampleRecord();
    maxNewTokens;
    transport;
    /** How often an attempt of it failed, by kind: there is an end to trying. */
    failures = { protocol: 0, server: 0, timeout: 0, broken: 0, fruitless: 0 };
    /** Ended by whoever asked for it: it takes what it has. */
    isAborted = false;
    outcome;
    text;
    promptLogprobs;
    busySince;
    started;
    firstToken;
    constructor(request, sample, index) {
        this.request = request;
        this.sample = sample;
        const { sampling, listener, limits } = request;
        this.maxNewTokens = request.maxNewTokens(index);
        this.transport = listener.onToken ? 'stream' : 'whole';
        if (listener.onToken && (sampling.text || sampling.stop.length > 0))
            this.text = new SampleText(limits.tokenizer, request.promptIds, sampling);
    }
    get identity() {
        const { request, promptId, sampling } = this.request;
        return { requestId: request.id, promptId, sample: this.sample, seed: sampling.seed };
    }
    /** The next request: for all that is missing, or with a first token of its own temperature for that alone. */
    nextAttempt(id, adapter, facts) {
        this.started ??= performance.now();
        const { request, record } = this;
        const { sampling, promptIds, promptId } = request;
        const { temperature, firstTemperature, seed } = sampling;
        const offset = record.length;
        const isFirst = offset === 0;
        const maxNewTokens = isFirst && firstTemperature !== temperature ? 1 : this.maxNewTokens - offset;
        // Prompt log-probabilities come with whole answers alone; they are asked for once.
        const wantsPrompt = sampling.promptLogprobs !== undefined && !this.promptLogprobs;
        const drawsHere = isFirst && isHot(sampling, request.limits);
        return {
            id,
            ids: isFirst ? promptIds : joined(promptIds, record.ids),
            idsJson: isFirst ? request.idsJson : `${request.idsJson.slice(0, -1)},${record.ids.join(',')}]`,
            maxNewTokens: wantsPrompt && this.transport === 'stream' ? 1 : maxNewTokens,
            minNewTokens: Math.min(maxNewTokens, Math.max(0, sampling.minNewTokens - offset)),
            temperature: drawsHere ? 1 : isFirst ? firstTemperature : temperature,
            seed: attemptSeed(seed, promptId, this.sample, facts.seeds === 'position' ? 0 : offset),
            sampling: drawsHere ? hotQuestion(sampling, request.limits) : sampling,
            adapter,
            promptLogprobs: wantsPrompt ? sampling.promptLogprobs : undefined,
            transport: wantsPrompt || drawsHere ? 'whole' : this.transport,
        };
    }
    /** Whether servers have refused it for lack of room for so long. */
    isBusyTooLong(patienceMs) {
        const now = performance.now();
        this.busySince ??= now;
        return now - this.busySince > patienceMs;
    }
    /** What an answer means for this sample: its first token may have to be drawn from what the server gave. */
    read(answer) {
        const { sampling, limits, promptId } = this.request;
        if (this.record.length > 0 || !isHot(sampling, limits))
            return answer;
        return drawHot(answer, { sampling, limits, promptId, sample: this.sample });
    }
    /** Takes tokens, and tells who listens. A promise where text has to be waited for. */
    append(answer, version) {
        const { record, request } = this;
        const { ids, logprobs, top } = answer;
        this.busySince = undefined;
        if (ids.length > 0)
            this.firstToken ??= performance.now();
        if (answer.promptLogprobs)
            this.promptLogprobs = answer.promptLogprobs;
        const before = record.length;
        record.append({ ids, logprobs, top: request.sampling.topLogprobs === undefined ? undefined : top }, version);
        const { onToken } = request.listener;
        if (onToken)
            return this.tell(before, answer);
    }
    tell(before, { finish }) {
        const { record, text, request } = this;
        const { onToken } = request.listener;
        const count = record.length;
        const isLast = (i) => i === count - 1 && (finish?.reason === 'stop' || count === this.maxNewTokens);
        const event = (i, shown) => {
            const value = record.logprobs[i];
            const { meanings } = request;
            onToken({
                requestId: request.request.id,
                sample: this.sample,
                id: record.ids[i],
                raw: meanings.includes('raw') ? value : undefined,
                processed: meanings.includes('processed') ? value : undefined,
                top: record.top[i],
                text: shown,
            });
        };
        if (!text) {
            for (let i = before; i < count; i++)
                event(i, '');
            return undefined;
        }
        const stopId = finish?.reason === 'stop' && typeof finish.stop !== 'string';
        return text.read(record.ids, before, { isLast, endsWithoutText: stopId }, event);
    }
    /** A stop string was found that no server could see: it spans two of its requests. */
    get stopFound() {
        return this.text?.stopFound;
    }
    /** What a sample becomes when it ends; text may have to be waited for. */
    async finish(reason, stopReason, version) {
        const { request } = this;
        const { sampling, limits } = request;
        let end = { reason, stop: stopReason };
        let text;
        if (this.text)
            text = this.text.shown;
        else if (sampling.text || sampling.stop.length > 0) {
            try {
                const found = await finalText(limits.tokenizer, request.promptIds, this.record.ids, { sampling, ...end });
                if (found.end < this.record.length) {
                    this.record.truncate(found.end);
                    end = { reason: 'stop', stop: found.stop };
                }
                text = found.text;
            }
            catch (error) {
                this.fail('engine', `the text of the response: ${error.message}`);
                return;
            }
        }
        this.settle(this.toSample(end.reason, end.stop, text, version));
    }
    toSample(finishReason, stopReason, text, version) {
        const { request, record } = this;
        const { versions } = record;
        return {
            kind: 'completed',
            ...this.identity,
            promptIds: request.promptIds,
            responseIds: Int32Array.from(record.ids),
            finishReason,
            stopReason,
            logprobs: this.namedLogprobs(),
            topLogprobs: request.sampling.topLogprobs === undefined ? undefined : record.top,
            promptLogprobs: this.promptLogprobs,
            text,
            policyVersion: versions[0]?.version ?? version,
            versions,
            timings: {
                startedMs: (this.started ?? performance.now()) - request.arrived,
                firstTokenMs: this.firstToken === undefined ? undefined : this.firstToken - request.arrived,
                finishedMs: performance.now() - request.arrived,
                preemptions: 0,
            },
        };
    }
    namedLogprobs() {
        const values = Float32Array.from(this.record.logprobs);
        const named = {};
        for (const meaning of this.request.meanings)
            named[meaning] = values;
        return named;
    }
    fail(reason, message) {
        this.settle({ kind: 'failed', ...this.identity, reason, message });
    }
    reject(message) {
        this.settle({ kind: 'rejected', ...this.identity, reason: 'prompt-too-long', message });
    }
    settle(outcome) {
        if (this.outcome)
            return;
        this.outcome = outcome;
        this.request.listener.onOutcome(outcome);
    }
}
function joined(promptIds, ids) {
    const all = new Int32Array(promptIds.length + ids.length);
    all.set(promptIds);
    all.set(ids, promptIds.length);
    return all;
}
//# sourceMappingURL=sample-task.js.map