import { encodeMessages } from './encode-prompts.js';
import { badRequest } from './errors.js';
import { weightsOf } from './exchange.js';
import { chatFields } from './field-tables.js';
import { tellingOf } from './logprobs-mode.js';
import { RequestShape } from './request-shape.js';
import { checkPrompts, runGeneration, usage } from './run-request.js';
import { logprobCount, readSampling } from './sampling-fields.js';
import { stopText } from './stop-text.js';
import { checkStream, streamChoices } from './stream-choices.js';
import { chatLogprobs, promptLogprobs, rowsLater, rowsNow, scoresOf, scoresOfEvents, } from './token-text.js';
import { LazyList } from './write-json.js';
const shape = new RequestShape(chatFields);
export async function chatCompletions(served, exchange) {
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
    const maxTokens = fields.max_completion_tokens ?? fields.max_tokens;
    const sampling = readSampling(fields, { ...limits, maxTokens, capabilities: engine.capabilities });
    checkStream(fields, sampling);
    const count = logprobCount('top_logprobs', fields.top_logprobs, engine.capabilities);
    if (count && !fields.logprobs)
        throw badRequest('when using top_logprobs, logprobs must be set to true.', 'top_logprobs');
    const logprobs = fields.logprobs ? (count ?? 0) : undefined;
    // What a model must not call it need not know of.
    const { tools, ...conversation } = fields;
    const offered = exchange.body.tool_choice === 'none' ? undefined : tools;
    const use = fields.truncate_prompt_tokens === undefined ? 'whole' : 'cut';
    return {
        id: `chatcmpl-${exchange.id(fields.request_id)}`,
        weights,
        prompts: [await encodeMessages(served, { ...conversation, tools: offered }, use, exchange)],
        sampling,
        maxTokens,
        logprobs,
        // Of 0 only the token's own is shown.
        topLogprobs: logprobs || undefined,
        told: tellingOf(served.logprobsMode, { sampling, alternatives: logprobs ?? 0, eosIds: limits.eosIds }),
        returnIds: fields.return_token_ids ?? false,
        show: texts.show(fields.return_tokens_as_token_ids ?? false),
        streamOptions: fields.stream_options,
    };
}
async function answer(served, exchange, request) {
    exchange.admit(request, served.limits);
    const found = [];
    const onSample = (_, sample) => {
        found[sample.sample] = sample;
    };
    await runGeneration(served, request, { onSample }, exchange.signal);
    const { returnIds, logprobs, told, sampling, show } = request;
    const choice = async (sample, index) => ({
        index,
        message: {
            role: 'assistant',
            content: (sample.text ?? '') + (await stopText(served.tokenizer, sample, sampling)),
            refusal: null,
        },
        logprobs: logprobs === undefined ? null : chatLogprobs(rowsLater(scoresOf(sample, told), show)),
        finish_reason: sample.finishReason,
        stop_reason: sample.stopReason ?? null,
        token_ids: returnIds ? Array.from(sample.responseIds) : null,
    });
    await exchange.answer({
        id: request.id,
        object: 'chat.completion',
        created: exchange.created,
        model: request.weights.name,
        choices: new LazyList(async function* () {
            for (const [index, sample] of found.entries())
                yield [await choice(sample, index)];
        }),
        usage: usage(found, request),
        prompt_logprobs: sampling.promptLogprobs === undefined ? null : promptLogprobs(found[0], show),
        prompt_token_ids: returnIds ? Array.from(request.prompts[0]) : null,
    });
}
async function stream(served, exchange, request) {
    const { returnIds, logprobs, told, sampling, show } = request;
    const head = {
        id: request.id,
        object: 'chat.completion.chunk',
        created: exchange.created,
        model: request.weights.name,
    };
    await streamChoices(served, exchange, request, {
        head,
        opening: Array.from({ length: sampling.n }, (_, index) => ({
            index,
            delta: { role: 'assistant', content: '' },
            logprobs: null,
            finish_reason: null,
        })),
        choice: ({ index, events, sample, first, start }, promptIds) => {
            const text = events.length === 1 ? events[0].text : events.map(event => event.text).join('');
            const shown = (tail, scores) => ({
                index,
                delta: { content: text + tail },
                logprobs: scores,
                finish_reason: sample?.finishReason ?? null,
                stop_reason: sample?.stopReason ?? null,
                ...(returnIds
                    ? { token_ids: events.map(({ id }) => id), ...(first ? { prompt_token_ids: Array.from(promptIds) } : {}) }
                    : {}),
            });
            const tail = sample && sampling.includeStop ? stopText(served.tokenizer, sample, sampling) : '';
            if (logprobs === undefined || events.length === 0)
                return tail === '' ? shown('', null) : tail.then(known => shown(known, null));
            return rowsNow(scoresOfEvents(events, start, told), show).then(async (rows) => shown(await tail, chatLogprobs(rows)));
        },
    });
}
//# sourceMappingURL=chat.js.map