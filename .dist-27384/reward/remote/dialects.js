/** What reward servers are asked and how they answer, one dialect each. */
import { z } from 'zod';
import { metricsOf } from '../aggregated.js';
import { SourceError } from '../errors.js';
export const dialects = {
    /** LightRFT's remote reward model, with the labels it documents and never sends. */
    lightrft: {
        path: '/get_reward',
        sends: ['text'],
        body: inputs => ({
            queries: inputs.map(input => input.query),
            prompts: inputs.map(input => input.promptRaw),
            labels: inputs.map(input => input.label ?? null),
            references: inputs.map(input => input.reference ?? null),
            ...(inputs.some(input => input.images) ? { images: inputs.map(imagesOf) } : {}),
        }),
        read: readRewards,
    },
    /** OpenRLHF's `serve_rm`. */
    openrlhf: {
        path: '/get_reward',
        sends: ['text'],
        body: inputs => ({
            query: inputs.map(input => input.query),
            prompts: inputs.map(input => input.promptRaw),
            labels: inputs.map(input => input.label ?? null),
        }),
        read: readRewards,
    },
    /** Without an activation, which for one label would be a sigmoid. */
    'vllm-classify': {
        path: '/classify',
        sends: ['text', 'ids', 'messages'],
        body: (inputs, options) => ({ ...vllmInput(inputs, options), use_activation: false }),
        read: (answer, count) => inOrder(parse(classified, answer).data, count).map(({ probs }) => single(probs)),
    },
    'vllm-pooling': {
        path: '/pooling',
        sends: ['text', 'ids', 'messages'],
        body: (inputs, options) => ({ ...vllmInput(inputs, options), task: 'classify', use_activation: false }),
        read: (answer, count) => inOrder(parse(pooled, answer).data, count).map(({ data }) => single(data)),
    },
    /** Cross-encoders: the prompt is the query, the response the document. */
    'vllm-score': {
        path: '/score',
        sends: ['text'],
        body: (inputs, { model }) => ({
            ...withModel(model),
            queries: inputs.map(input => input.prompt),
            documents: inputs.map(input => input.response),
        }),
        read: (answer, count) => inOrder(parse(pairScored, answer).data, count).map(({ score }) => number(score)),
    },
    'sglang-classify': {
        path: '/classify',
        sends: ['text', 'ids'],
        body: (inputs, { model, send }) => ({
            ...withModel(model),
            ...(send === 'ids' ? { input_ids: inputs.map(idsOf) } : { text: inputs.map(input => input.query) }),
        }),
        read: (answer, count) => {
            const list = parse(embedded, answer);
            return counted(Array.isArray(list) ? list : [list], count).map(({ embedding }) => single(embedding));
        },
    },
    /** A language model as a judge: how likely the first of the label tokens is to come next, among them. */
    'sglang-score': {
        path: '/v1/score',
        sends: ['text'],
        body: ([input], { model, labelTokenIds }) => ({
            ...withModel(model),
            query: input.prompt,
            items: [input.response],
            label_token_ids: labelTokenIds,
            apply_softmax: true,
        }),
        read: (answer, count) => counted(parse(labelScored, answer).scores, count).map(([first]) => number(first)),
    },
    /** SGLang's cross-encoders: one query each, so that prompts are asked for one at a time. */
    'sglang-rerank': {
        path: '/v1/rerank',
        sends: ['text'],
        body: ([input], { model }) => ({ ...withModel(model), query: input.prompt, documents: [input.response] }),
        read: (answer, count) => counted(parse(reranked, answer), count).map(({ score }) => number(score)),
    },
};
export const dialectNames = Object.keys(dialects);
/** A dialect whose request holds one sample. */
export function oneAtATime(name, send) {
    return name === 'sglang-rerank' || name === 'sglang-score' || send === 'messages';
}
const values = z.union([z.array(z.unknown()), z.number(), z.null()]);
const metric = z.union([z.number(), z.array(z.number())]);
const rewarded = z.object({
    rewards: values.optional(),
    scores: values.optional(),
    extra_logs: z.record(z.string(), z.unknown()).nullish(),
});
const classified = z.object({ data: z.array(z.object({ index: z.int(), probs: z.array(z.unknown()) })) });
const pooled = z.object({ data: z.array(z.object({ index: z.int(), data: z.array(z.unknown()) })) });
const pairScored = z.object({ data: z.array(z.object({ index: z.int(), score: z.unknown() })) });
const embedding = z.object({ embedding: z.array(z.unknown()) });
const embedded = z.union([z.array(embedding), embedding]);
const labelScored = z.object({ scores: z.array(z.array(z.unknown()).min(1)) });
const reranked = z.array(z.object({ score: z.unknown() }));
function parse(schema, answer) {
    const result = schema.safeParse(answer);
    if (result.success)
        return result.data;
    const [issue] = result.error.issues;
    const where = issue.path.length > 0 ? `${issue.path.join('.')}: ` : '';
    throw new SourceError('protocol', `an answer of another shape: ${where}${issue.message}`);
}
/** `rewards`, or `scores` as some servers call them; `extra_logs` become metrics. */
function readRewards(answer, count) {
    const { rewards, scores, extra_logs: logs } = parse(rewarded, answer);
    const found = rewards ?? scores;
    if (found === undefined || found === null)
        throw new SourceError('protocol', 'an answer of another shape: neither "rewards" nor "scores" is in it');
    const list = counted(Array.isArray(found) ? found : [found], count);
    const metrics = {};
    for (const [name, value] of Object.entries(logs ?? {})) {
        const read = metric.safeParse(value);
        // What else a server logs is its own business.
        if (read.success && (typeof read.data === 'number' || read.data.length === count))
            metrics[name] = read.data;
    }
    return list.map((value, i) => ({ reward: number(value), metrics: metricsOf(metrics, i, count) }));
}
function counted(list, count) {
    if (list.length !== count)
        throw new SourceError('wrong-count', `the server gave ${list.length} rewards for ${count} samples`);
    return list;
}
/** By `index`, whatever order they came in; each once. */
function inOrder(list, count) {
    const sorted = [...counted(list, count)].sort((a, b) => a.index - b.index);
    if (sorted.some(({ index }, i) => index !== i))
        throw new SourceError('protocol', `the answer's indices are not 0..${count - 1}, each once`);
    return sorted;
}
/** The one number of a sequence; several mean another kind of model. */
function single(list) {
    if (list.length === 1)
        return Array.isArray(list[0]) ? single(list[0]) : number(list[0]);
    throw new SourceError('protocol', `${list.length} numbers for a sample; a reward model with one label gives one`);
}
/** null is how JSON writes NaN; what is no number at all is for the caller to see. */
function number(value) {
    return value === null ? Number.NaN : value;
}
/** Texts hold their special tokens already: the server must not add a bos of its own. */
function vllmInput(inputs, { model, send }) {
    if (send === 'messages') {
        const { messages, response } = inputs[0];
        if (!messages)
            throw new SourceError('input', 'the sample has no messages; send text or ids instead');
        return { ...withModel(model), messages: [...messages, { role: 'assistant', content: response }] };
    }
    if (send === 'ids')
        return { ...withModel(model), input: inputs.map(idsOf) };
    return { ...withModel(model), input: inputs.map(input => input.query), add_special_tokens: false };
}
function withModel(model) {
    return model === undefined ? {} : { model };
}
function idsOf({ promptIds, responseIds }) {
    if (promptIds.length + responseIds.length === 0)
        throw new SourceError('input', 'the sample has no ids; send text instead');
    return [...promptIds, ...responseIds];
}
function imagesOf({ images }) {
    return images?.map(({ bytes }) => Buffer.from(bytes).toString('base64')) ?? null;
}
//# sourceMappingURL=dialects.js.map