/** Answers of a model to prompts, in the order of the prompts. */
import { decodeRewardInput } from '../reward/index.js';
import { encodeTurns } from '../text/index.js';
export async function generateAnswers(options) {
    const { generator, tokenizer, prompts, signal, onAnswered } = options;
    const inputs = prompts.map(() => []);
    const unanswered = {};
    let count = 0;
    for await (const outcome of generator.generate(requestsFor(options), { signal })) {
        signal.throwIfAborted();
        onAnswered(++count);
        if (outcome.kind !== 'completed') {
            unanswered[outcome.reason] = (unanswered[outcome.reason] ?? 0) + 1;
            continue;
        }
        const { promptIds, responseIds, finishReason, sample } = outcome;
        const place = Number(outcome.requestId);
        const { prompt, label, reference, row, rowId } = prompts[place];
        const input = await decodeRewardInput(tokenizer, {
            ...{ promptIds, responseIds, finishReason, sample, row, group: rowId },
            ...(typeof prompt === 'string' ? {} : { messages: prompt }),
            ...(label === undefined ? {} : { label }),
            ...(reference === undefined ? {} : { reference }),
        });
        inputs[place].push(input);
    }
    // What an interruption leaves of them is no result.
    signal.throwIfAborted();
    for (const list of inputs)
        list.sort((a, b) => a.sample - b.sample);
    return { inputs, unanswered };
}
async function* requestsFor({ tokenizer, prompts, samples: n, sampling, }) {
    for (const [place, { prompt, rowId }] of prompts.entries()) {
        const promptIds = await encodeTurns(prompt, tokenizer);
        // The row names the prompt in the stream of random numbers: other rows beside it change nothing.
        yield { id: `${place}`, promptId: rowId, promptIds, n, sampling };
    }
}
//# sourceMappingURL=answers.js.map