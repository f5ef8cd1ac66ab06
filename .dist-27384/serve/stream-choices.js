import { ChoiceWriter } from './choice-writer.js';
import { ApiError, badRequest } from './errors.js';
import { EventStream } from './event-stream.js';
import { streamOptionsFields } from './field-tables.js';
import { RequestShape } from './request-shape.js';
import { runGeneration, usage } from './run-request.js';
const streamOptions = new RequestShape(streamOptionsFields, 'body.stream_options');
/** Fields that go with `stream` alone, or not with it. */
export function checkStream({ stream, stream_options: options }, { promptLogprobs }) {
    if (stream && promptLogprobs !== undefined)
        throw badRequest('prompt_logprobs are not available when stream is true.', 'prompt_logprobs');
    if (!stream && options !== undefined)
        throw badRequest('stream_options can only be defined when stream is true.', 'stream_options');
}
export async function streamChoices(served, exchange, request, { head, opening = [], choice }) {
    const { engine, limits } = served;
    const { n } = request.sampling;
    const wantsUsage = streamOptions.read(request.streamOptions ?? {}).include_usage ?? false;
    exchange.admit(request, limits);
    const stream = new EventStream(exchange.response, exchange);
    for (const one of opening)
        stream.add({ ...head, choices: [one] });
    const found = [];
    const event = (shown) => ({ ...head, choices: [shown], ...(wantsUsage ? { usage: null } : {}) });
    const writer = new ChoiceWriter(stream, chunk => {
        const shown = choice(chunk, request.prompts[Math.floor(chunk.index / n)]);
        return shown instanceof Promise ? shown.then(event) : event(shown);
    });
    try {
        await runGeneration(served, request, {
            onToken: (prompt, token) => writer.add(prompt * n + token.sample, { events: [token] }),
            onSample: (prompt, sample) => {
                const index = prompt * n + sample.sample;
                found[index] = sample;
                // An engine that does not tell of single tokens tells of all with the sample.
                writer.add(index, { sample, ...(engine.capabilities.tokens ? {} : { events: eventsOf(sample) }) });
            },
        }, exchange.signal);
        await writer.finished();
        if (wantsUsage)
            stream.add({ ...head, choices: [], usage: usage(found, request) });
    }
    catch (error) {
        // The status is sent already: an error is an event.
        await writer.finished().catch(() => { });
        stream.add((error instanceof ApiError ? error : new ApiError(500, 'the request failed')).body);
    }
    stream.end();
}
function eventsOf({ requestId, sample, responseIds, logprobs, topLogprobs, text }) {
    return Array.from(responseIds, (id, i) => ({
        requestId,
        sample,
        id,
        raw: logprobs.raw?.[i],
        processed: logprobs.processed?.[i],
        top: topLogprobs?.[i],
        text: i === 0 ? (text ?? '') : '',
    }));
}
//# sourceMappingURL=stream-choices.js.map