import { resolveSampling } from '../sampling.js';
import { EngineError, TransportError } from './errors.js';
import { parseJson } from './parse-long.js';
import { explainedByNoise, explainedDifference, float32Limit, meanDifference } from './proof-limit.js';
import { serverWords } from './server-words.js';
/** How much worse than at first a float32 proof may be, and what is accepted in any case. */
const worseningFactor = 4;
const leastLimit = 1e-4;
export class ProofCheck {
    dialect;
    options;
    firstDifference = new Map();
    constructor(dialect, options) {
        this.dialect = dialect;
        this.options = options;
    }
    /** A difference above the limit: these are other weights. */
    async compare(replica, proof) {
        const found = await this.score(replica, proof.ids);
        if (found.length !== proof.logprobs.length)
            throw new EngineError(`${replica.url}: ${found.length} log-probabilities for a proof of ${proof.ids.length} tokens`);
        const difference = meanDifference(found, proof.logprobs);
        const limit = await this.limitFor(replica, proof, { difference, found });
        if (difference <= limit && !this.firstDifference.has(replica))
            this.firstDifference.set(replica, difference);
        return { difference, limit };
    }
    /** What is given; else what the trainer's dtype explains; else what the server's own noise or dtype does. */
    async limitFor(replica, { ids, logprobs, dtype = 'float32' }, { difference, found }) {
        const { proofTolerance } = this.options;
        if (proofTolerance !== undefined)
            return proofTolerance;
        let limit = explainedDifference(dtype, logprobs);
        const first = this.firstDifference.get(replica);
        // float32 numbers are steady: an update that was loaded in part shows as a small step.
        if (limit === float32Limit && first !== undefined && first <= limit)
            limit = Math.min(limit, Math.max(leastLimit, worseningFactor * first));
        if (difference <= limit)
            return limit;
        limit = Math.max(limit, explainedByNoise(await this.noiseOf(replica, ids, found), logprobs));
        if (difference <= limit)
            return limit;
        const served = await this.dtypeOf(replica);
        return served === undefined ? limit : Math.max(limit, explainedDifference(served, logprobs));
    }
    /** The text again with itself behind it: the same numbers, computed in other shapes. */
    async noiseOf(replica, ids, found) {
        const twice = Int32Array.of(...ids, ...ids).subarray(0, replica.facts.maxPromptLength);
        if (twice.length <= ids.length)
            return 0;
        return meanDifference(found, (await this.score(replica, twice)).subarray(0, found.length));
    }
    async dtypeOf({ server }) {
        try {
            return await this.dialect.dtype(server);
        }
        catch (error) {
            if (error instanceof TransportError && error.kind === 'unreachable')
                throw error;
            return undefined;
        }
    }
    async score(replica, ids) {
        const { vocabSize, controlTimeoutMs: timeoutMs } = this.options;
        const attempt = {
            id: `whetstone-proof-${process.pid}-${performance.now()}`,
            ids,
            idsJson: `[${ids.join(',')}]`,
            maxNewTokens: 1,
            minNewTokens: 0,
            temperature: 0,
            seed: 0,
            sampling: resolveSampling({ seed: 0, maxNewTokens: 1, temperature: 0 }, { vocabSize, n: 1 }),
            adapter: replica.adapter,
            promptLogprobs: 0,
            transport: 'whole',
        };
        const { path, body } = this.dialect.generation(attempt, replica.facts);
        const { status, text } = await replica.server.exchange({ method: 'POST', path, body, timeoutMs }).reply;
        if (status !== 200)
            throw new EngineError(`${replica.url}: scoring the proof: the server answered ${status}: ${serverWords(replica.server.hide(text))}`);
        const { promptLogprobs } = this.dialect.answer(await parseJson(text), attempt, replica.facts);
        if (!promptLogprobs)
            throw new EngineError(`${replica.url}: it scored no prompt for the proof`);
        return promptLogprobs.logprobs;
    }
}
//# sourceMappingURL=proof-check.js.map