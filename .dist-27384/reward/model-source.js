/** Local reward models as reward sources. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RewardConfigError, SourceError } from './errors.js';
import { defaultLimits, resolveLimits } from './source.js';
/**
 * A local reward model as a source.
 *
 * @example
 * const model = await LocalModel.load('models/rm', { role: 'reward' })
 * const quality = modelReward({ name: 'quality', model, tokenizer: await Tokenizer.load('models/rm'), policyTokenizer })
 */
export function modelReward(options) {
    const { name, model, tokenizer, policyTokenizer, batchTokens = 32_768 } = options;
    const maxLength = options.maxLength ?? model.maxLength ?? Number.POSITIVE_INFINITY;
    if (!Number.isInteger(batchTokens) || batchTokens < 1)
        throw new RewardConfigError(`reward "${name}": batchTokens should be a whole number of at least 1, got ${batchTokens}`);
    let shared;
    return {
        name,
        kind: 'model',
        model,
        limits: resolveLimits(name, defaultLimits.model, options),
        async score(inputs, { signal }) {
            shared ??= sameTokenizer(tokenizer, policyTokenizer);
            const exact = await shared;
            const found = await Promise.all(inputs.map(input => sequenceFor(input, tokenizer, exact).catch(unrenderable)));
            const ids = found.map(one => (one instanceof Int32Array ? one : new Int32Array(0)));
            const answers = found.map((one) => {
                if (!(one instanceof Int32Array))
                    return one;
                if (one.length > 0 && one.length <= maxLength)
                    return Number.NaN;
                return { kind: 'failed', reason: 'input', message: lengthMessage(one.length, maxLength) };
            });
            for (const batch of batches(ids, answers, batchTokens)) {
                signal.throwIfAborted();
                await scoreBatch(model, batch, ids, answers, signal);
            }
            return answers;
        },
    };
}
/** Whether ids of one tokenizer mean the same to the other: by the bytes of `tokenizer.json`, not by the vocabulary's size. */
async function sameTokenizer(own, policy) {
    if (!policy)
        return 'rendered';
    if (policy === own)
        return 'exact';
    const [a, b] = await Promise.all([own, policy].map(({ dir }) => readFile(join(dir, 'tokenizer.json'))));
    return a.equals(b) ? 'exact' : 'rendered';
}
/**
 * What the model reads. Ids of another tokenizer mean nothing to it, so the conversation is rendered by its own chat template
 * and encoded; a prompt that never was a conversation is joined with the response and encoded as text.
 */
async function sequenceFor(input, tokenizer, shared) {
    const { promptIds, responseIds, messages, prompt, response } = input;
    if (shared === 'exact' && promptIds.length + responseIds.length > 0) {
        // What the template writes after a turn that has ended: a reward model reads conversations with it.
        const end = messages && (await tokenizer.turnEnd());
        const tail = end && responseIds.at(-1) === end.id ? end.tail : new Int32Array(0);
        const ids = new Int32Array(promptIds.length + responseIds.length + tail.length);
        ids.set(promptIds);
        ids.set(responseIds, promptIds.length);
        ids.set(tail, promptIds.length + responseIds.length);
        return ids;
    }
    if (!messages)
        return tokenizer.encode(prompt + response);
    const conversation = [...messages, { role: 'assistant', content: response }];
    return tokenizer.encodeChat(conversation);
}
/** Messages the template will not have are a matter of their sample alone. */
function unrenderable(error) {
    if (error.name !== 'ChatTemplateError')
        throw error;
    return { kind: 'failed', reason: 'input', message: error.message };
}
/** Indices of sequences of similar length, so many tokens together. */
function batches(ids, answers, batchTokens) {
    const order = ids.map((_, i) => i).filter(i => typeof answers[i] === 'number');
    order.sort((a, b) => ids[a].length - ids[b].length);
    const all = [];
    let tokens = 0;
    for (const i of order) {
        tokens += ids[i].length;
        if (all.length === 0 || tokens > batchTokens) {
            all.push([]);
            tokens = ids[i].length;
        }
        all.at(-1).push(i);
    }
    return all;
}
/** A model that names the sequence whose score is not finite fails that sample alone; the others are scored without it. */
async function scoreBatch(model, batch, ids, answers, signal) {
    let left = [...batch];
    while (left.length > 0) {
        try {
            const sequences = left.map(i => ids[i]);
            const scores = await model.score(sequences, { signal });
            if (scores.length !== left.length)
                throw new SourceError('wrong-count', `the model gave ${scores.length} scores for ${left.length} sequences`);
            for (const [k, i] of left.entries())
                answers[i] = scores[k].score;
            return;
        }
        catch (error) {
            const { name, sequence } = error;
            if (name !== 'NonFiniteError' || typeof sequence !== 'number' || left[sequence] === undefined)
                throw error;
            answers[left[sequence]] = Number.NaN;
            left = left.filter((_, k) => k !== sequence);
        }
    }
}
function lengthMessage(length, maxLength) {
    if (length === 0)
        return 'no tokens to score';
    return `${length} tokens, and the reward model takes ${maxLength}. Generate shorter responses, or raise maxLength.`;
}
//# sourceMappingURL=model-source.js.map