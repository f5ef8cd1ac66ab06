import { tokenReader } from '../text/index.js';
/** The record of a sample an engine made: its ids, decoded by the policy's tokenizer. */
export async function decodeRewardInput(tokenizer, sample) {
    const { promptIds, responseIds } = sample;
    const whole = new Int32Array(promptIds.length + responseIds.length);
    whole.set(promptIds);
    whole.set(responseIds, promptIds.length);
    const [prompt, promptRaw, response, responseRaw, query] = await Promise.all([
        textOf(tokenizer, promptIds, { skipSpecialTokens: true }),
        textOf(tokenizer, promptIds),
        textOf(tokenizer, responseIds, { skipSpecialTokens: true }),
        textOf(tokenizer, responseIds),
        // Of the whole, not the two texts joined: a character may be divided between prompt and response.
        textOf(tokenizer, whole),
    ]);
    return { ...sample, prompt, promptRaw, response, responseRaw, query };
}
const none = new Int32Array(0);
/** What `decode` gives. Where tokens are bytes they are put together here: five calls of the library for every sample cost more. */
function textOf(tokenizer, ids, { skipSpecialTokens = false } = {}) {
    if (!tokenizer.byteLevel)
        return tokenizer.decode(ids, { skipSpecialTokens });
    return tokenReader(tokenizer, { skipSpecialTokens, before: none }).read(ids, { last: true });
}
/** The record of a sample of which only the text is known. */
export function textRewardInput(sample) {
    const { prompt, response, responseRaw = response } = sample;
    return {
        row: {},
        finishReason: 'stop',
        group: '0',
        sample: 0,
        promptIds: new Int32Array(0),
        responseIds: new Int32Array(0),
        ...sample,
        promptRaw: prompt,
        responseRaw,
        query: prompt + responseRaw,
    };
}
//# sourceMappingURL=input.js.map