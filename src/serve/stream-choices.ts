/** Samples for a plain answer, and the events of a streamed one: tokens of each choice in order, then the usage, then the end. */
import type { Sample, TokenEvent } from '../rollout/index.js'
import { ChoiceWriter, type Chunk, EventStream } from './choice-writer.js'
import { ApiError, badRequest } from './errors.js'
import type { Exchange, Served } from './exchange.js'
import { streamOptionsFields } from './field-tables.js'
import { type JsonObject, RequestShape } from './request-shape.js'
import { type Generation, runGeneration, usage } from './run-request.js'
import type { SamplingRequest } from './sampling-fields.js'

interface StreamShape {
  head: object
  /** Events before the first token. */
  opening?: readonly object[]
  /** A promise where texts have to be waited for. */
  choice(chunk: Chunk, promptIds: Int32Array): object | Promise<object>
}

export interface StreamRequest extends Generation {
  /** The body's `stream_options`. */
  streamOptions: JsonObject | undefined
}

const streamOptions = new RequestShape(streamOptionsFields, 'body.stream_options')

/** Checks fields that need `stream`, or cannot be combined with it. */
export function checkStream(
  { stream, stream_options: options }: { stream?: boolean | undefined; stream_options?: JsonObject | undefined },
  { promptLogprobs }: SamplingRequest,
): void {
  if (stream && promptLogprobs !== undefined)
    throw badRequest('prompt_logprobs are not available when stream is true.', 'prompt_logprobs')
  if (!stream && options !== undefined)
    throw badRequest('stream_options can only be defined when stream is true.', 'stream_options')
}

/** Every sample of a request: the samples of the first prompt first. */
export async function collectSamples(served: Served, exchange: Exchange, request: Generation): Promise<Sample[]> {
  exchange.admit(request, served.limits)
  const found: Sample[] = []
  const onSample = (prompt: number, sample: Sample): void => {
    found[prompt * request.sampling.n + sample.sample] = sample
  }
  await runGeneration(served, request, { onSample }, exchange.signal)
  return found
}

export async function streamChoices(
  served: Served,
  exchange: Exchange,
  request: StreamRequest,
  { head, opening = [], choice }: StreamShape,
): Promise<void> {
  const { engine, limits } = served
  const { n } = request.sampling
  const wantsUsage = streamOptions.read(request.streamOptions ?? {}).include_usage ?? false
  exchange.admit(request, limits)
  const stream = new EventStream(exchange.response, exchange)
  for (const one of opening) stream.add({ ...head, choices: [one] })
  const found: Sample[] = []
  const event = (shown: object): object => ({ ...head, choices: [shown], ...(wantsUsage ? { usage: null } : {}) })
  const writer = new ChoiceWriter(stream, chunk => {
    const shown = choice(chunk, request.prompts[Math.floor(chunk.index / n)]!)
    return shown instanceof Promise ? shown.then(event) : event(shown)
  })
  try {
    await runGeneration(
      served,
      request,
      {
        onToken: (prompt, token) => writer.add(prompt * n + token.sample, { events: [token] }),
        onSample: (prompt, sample) => {
          const index = prompt * n + sample.sample
          found[index] = sample
          // An engine without token events: all tokens come with the sample.
          writer.add(index, { sample, ...(engine.capabilities.tokens ? {} : { events: eventsOf(sample) }) })
        },
      },
      exchange.signal,
    )
    await writer.finished()
    if (wantsUsage) stream.add({ ...head, choices: [], usage: usage(found, request) })
  } catch (error) {
    // The status was already sent, so the error is an event.
    await writer.finished().catch(() => {})
    stream.add((error instanceof ApiError ? error : new ApiError(500, 'the request failed')).body)
  }
  stream.end()
}

function eventsOf({ requestId, sample, responseIds, logprobs, topLogprobs, text }: Sample): TokenEvent[] {
  return Array.from(responseIds, (id, i) => ({
    requestId,
    sample,
    id,
    raw: logprobs.raw?.[i],
    processed: logprobs.processed?.[i],
    top: topLogprobs?.[i],
    text: i === 0 ? (text ?? '') : '',
  }))
}
