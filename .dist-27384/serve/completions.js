import { encodeText } from './encode-prompts.js';
import { badRequest } from './errors.js';
import { weightsOf } from './exchange.js';
import { completionFields } from './field-tables.js';
import { tellingOf } from './logprobs-mode.js';
import { RequestShape } from './request-shape.js';
import { checkPrompts, runGeneration, usage } from './run-request.js';
import { logprobCount, readSampling } from './sampling-fields.js';
import { stopText } from './stop-text.js';
import { checkStream, streamChoices } from './stream-choices.js';
import { completionLogprobs, joined, promptLogprobs, promptScoresOf, rowsLater, rowsNow, scoresOf, scoresOfEvents, } from './token-text.js';
import { LazyList } from './write-json.js';
const shape = new RequestShape(completionFields);
export async function completions(served, exchange) {
    const fields = shape.read(exchange.body);
    const request = await readRequest(served, fields, exchange);
    checkPrompts(request, served.limits);
    if (fields.stream)
        await stream(served, exchange, request);
    else
        await answer(served, exchange, request);
}
async function readRequest(served, fields, exchange) {
    const { engine, limits, texts } = served;
    const weights = weightsOf(served, fields.model);
    const echo = fields.echo ?? false;
    const asked = fields.max_tokens ?? 16;
    const dropped = echo && asked === 0;
    const maxTokens = dropped ? 1 : asked;
    const logprobs = logprobCount('logprobs', fields.logprobs, engine.capabilities);
    const sampling = readSampling(fields, { ...limits, maxTokens, capabilities: engine.capabilities });
    if (echo && fields.stream)
        throw badRequest('echo with stream is not supported by this server.', 'echo');
    if (echo && !served.tokenizer)
        throw badRequest('echo needs a tokenizer, and this model has none.', 'echo');
    checkStream(fields, sampling);
    if (echo && logprobs !== undefined)
        sampling.params.promptLogprobs = Math.max(logprobs, sampling.promptLogprobs ?? 0);
    return {
        id: `cmpl-${exchange.id(fields.request_id)}`,
        weights,
        prompts: await readPrompts(served, fields, exchange),
        sampling,
        maxTokens,
        logprobs,
        // Of 0 only the token's own is shown.
        topLogprobs: logprobs || undefined,
        told: tellingOf(served.logprobsMode, { sampling, alternatives: logprobs ?? 0, eosIds: limits.eosIds }),
        echo,
        dropped,
        returnIds: fields.return_token_ids ?? false,
        show: texts.show(fields.return_tokens_as_token_ids ?? false),
        streamOptions: fields.stream_options,
    };
}
/** Texts of one request that are encoded at once. */
const atOnce = 8;
async function readPrompts(served, fields, exchange) {
    const { prompt } = fields;
    const empty = badRequest('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt');
    if (prompt === undefined || (prompt.length === 1 && prompt[0] === ''))
        throw empty;
    if (prompt.length === 0)
        throw badRequest('You must pass at least one prompt');
    if (prompt.length > 1024)
        throw badRequest(`at most 1024 prompts in a request, got ${prompt.length}.`, 'prompt');
    const addSpecialTokens = fields.add_special_tokens ?? true;
    const use = fields.truncate_prompt_tokens === undefined ? 'whole' : 'cut';
    const read = async (one) => {
        if (typeof one !== 'string') {
            if (one.length === 0)
                throw badRequest('a prompt without tokens', 'prompt');
            const wild = one.find(id => id < 0 || id >= 2 ** 31);
            if (wild !== undefined)
                throw badRequest(`Token id ${wild} is out of vocabulary`);
            return Int32Array.from(one);
        }
        if (!served.tokenizer)
            throw badRequest('this model has no tokenizer: a prompt is a list of token ids.', 'prompt');
        const ids = await encodeText(served, one, { addSpecialTokens, use }, exchange);
        if (ids.length === 0)
            throw empty;
        return ids;
    };
    const prompts = [];
    for (let i = 0; i < prompt.length; i += atOnce)
        prompts.push(...(await Promise.all(prompt.slice(i, i + atOnce).map(read))));
    return prompts;
}
async function answer(served, exchange, request) {
    const { n } = request.sampling;
    exchange.admit(request, served.limits);
    const found = [];
    const onSample = (prompt, sample) => {
        found[prompt * n + sample.sample] = sample;
    };
    await runGeneration(served, request, { onSample }, exchange.signal);
    await exchange.answer({
        id: request.id,
        object: 'text_completion',
        created: exchange.created,
        model: request.weights.name,
        choices: new LazyList(async function* () {
            for (const [index, sample] of found.entries())
                yield [await choice(served, request, sample, index)];
        }),
        usage: usage(found, request, request.dropped ? 0 : undefined),
    });
}
async function choice({ tokenizer }, { sampling, logprobs, told, returnIds, echo, dropped, show }, sample, index) {
    const { promptIds, responseIds, finishReason, stopReason } = sample;
    let text = dropped ? '' : (sample.text ?? '') + (await stopText(tokenizer, sample, sampling));
    let scores = dropped ? { ...scoresOf(sample, told), length: 0 } : scoresOf(sample, told);
    if (echo) {
        const { skipSpecialTokens } = sampling;
        text = (await tokenizer.decode(promptIds, { skipSpecialTokens })) + text;
        if (logprobs !== undefined)
            scores = joined(promptScoresOf(sample), scores);
    }
    return {
        index,
        text,
        logprobs: logprobs === undefined ? null : completionLogprobs(rowsLater(scores, show)),
        finish_reason: dropped ? 'length' : finishReason,
        stop_reason: dropped ? null : (stopReason ?? null),
        token_ids: returnIds ? Array.from(responseIds) : null,
        prompt_logprobs: sampling.promptLogprobs === undefined ? null : promptLogprobs(sample, show),
        prompt_token_ids: returnIds ? Array.from(promptIds) : null,
    };
}
async function stream(served, exchange, request) {
    const { returnIds, logprobs, told, sampling, show } = request;
    const head = { id: request.id, object: 'text_completion', created: exchange.created, model: request.weights.name };
    const offsets = new Map();
    await streamChoices(served, exchange, request, {
        head,
        choice: ({ index, events, sample, first, start }, promptIds) => {
            const text = events.length === 1 ? events[0].text : events.map(event => event.text).join('');
            const offset = offsets.get(index) ?? 0;
            offsets.set(index, offset + text.length);
            const shown = (tail, scores) => ({
                index,
                text: text + tail,
                logprobs: scores,
                finish_reason: sample?.finishReason ?? null,
                stop_reason: sample?.stopReason ?? null,
                ...(returnIds
                    ? { prompt_token_ids: first ? Array.from(promptIds) : null, token_ids: events.map(({ id }) => id) }
                    : {}),
            });
            const tail = sample && sampling.includeStop ? stopText(served.tokenizer, sample, sampling) : '';
            if (logprobs === undefined)
                return tail === '' ? shown('', null) : tail.then(known => shown(known, null));
            return rowsNow(scoresOfEvents(events, start, told), show).then(async (rows) => shown(await tail, completionLogprobs(rows, offset)));
        },
    });
}
//# sourceMappingURL=completions.js.map