import { OutcomeStream } from '../outcome-stream.js';
import { EngineCore } from './engine-core.js';
export class LocalEngine {
    core;
    constructor(model, options = {}) {
        this.core = new EngineCore(model, options);
    }
    get counts() {
        return this.core.counts;
    }
    get maxLength() {
        return this.core.limits.maxLength;
    }
    get vocabSize() {
        return this.core.limits.vocabSize;
    }
    get policyVersion() {
        return this.core.version;
    }
    get capabilities() {
        const { vocabSize, tokenizer } = this.core.limits;
        return {
            logprobs: ['raw', 'processed'],
            topLogprobs: vocabSize,
            promptLogprobs: true,
            text: tokenizer !== undefined,
            tokens: true,
            media: false,
            structured: [],
            sleep: true,
            weights: ['shared'],
        };
    }
    /** Whether `useAdapter` can be used. */
    get exchangesAdapters() {
        return this.core.exchangesAdapters;
    }
    generate(requests, { signal, onToken } = {}) {
        const { core } = this;
        const caller = {};
        // As many wait as run: a place that becomes free is filled at once.
        const samples = 2 * core.maxSequences;
        return new OutcomeStream({
            requests,
            signal,
            room: { samples, unread: samples },
            asleep: core.isAsleep,
            submit: (request, onOutcome) => core.submit(request, { onOutcome, ...(onToken && { onToken }) }, caller),
        });
    }
    abort(requestId) {
        this.core.abort(requestId);
    }
    abortAll() {
        this.core.abortAll();
    }
    pause() {
        return this.core.pause();
    }
    resume() {
        this.core.resume();
    }
    /**
     * Training in the same process changes the weights in place, so there is nothing to move: this names them. Where numbers
     * changed, what was computed with the old ones is computed again for requests in flight, so that every later token is the
     * new weights'. A change without this call is noticed, and counted from the last name by the model's own steps.
     */
    updateWeights({ version }) {
        return this.core.updateWeights(version);
    }
    /**
     * Puts an adapter over the model's weights, or with undefined takes it off: from the next token on. Needs an engine made with
     * `adapters: 'exchangeable'`. The adapter stays the caller's, and is not disposed while it is in use.
     */
    useAdapter(adapter) {
        return this.core.useAdapter(adapter);
    }
    sleep() {
        return this.core.sleep();
    }
    wake() {
        return this.core.wake();
    }
    close() {
        return this.core.close();
    }
}
//# sourceMappingURL=engine.js.map