/** Samples of prompts as lines of JSON, in the order of the prompts whatever order they finish in. */
import { InputError } from '../errors/index.js';
export async function writeSamples(generator, { prompts, n, sampling, logprobs }, { write, onOutcome, signal }) {
    const { logprobs: known } = generator.capabilities;
    if (!known.includes(logprobs))
        throw new InputError(`this engine has no ${logprobs} log-probabilities, only ${known.join(' and ') || 'none'}`);
    function* requests() {
        for (const [index, promptIds] of prompts.entries())
            yield { id: `${index}`, promptIds, n, sampling };
    }
    const lines = new InOrder();
    for await (const outcome of generator.generate(requests(), { signal })) {
        signal.throwIfAborted();
        onOutcome(outcome);
        const ready = lines.put(Number(outcome.requestId) * n + outcome.sample, outputLine(outcome, logprobs));
        if (ready !== '')
            await write(ready);
    }
    signal.throwIfAborted();
}
/** Lines that come in any order, given out in theirs. */
class InOrder {
    lines = new Map();
    next = 0;
    /** What can be written now. */
    put(index, line) {
        this.lines.set(index, line);
        let ready = '';
        for (let found = this.lines.get(this.next); found !== undefined; found = this.lines.get(this.next)) {
            ready += found;
            this.lines.delete(this.next++);
        }
        return ready;
    }
}
function outputLine(outcome, meaning) {
    const place = { index: Number(outcome.requestId), sample: outcome.sample };
    if (outcome.kind !== 'completed') {
        const { reason, message } = outcome;
        return `${JSON.stringify({ ...place, error: { reason, message } })}\n`;
    }
    const { promptIds, responseIds, text, logprobs, finishReason } = outcome;
    return `${JSON.stringify({
        ...place,
        prompt_ids: Array.from(promptIds),
        ids: Array.from(responseIds),
        ...(text === undefined ? {} : { text }),
        logprobs: Array.from(logprobs[meaning] ?? []),
        logprobs_mode: meaning,
        finish_reason: finishReason,
    })}\n`;
}
//# sourceMappingURL=sample-lines.js.map