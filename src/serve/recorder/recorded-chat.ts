/** `POST /v1/chat/completions` of a recorded session: OpenAI's API over a `Policy`. */
import { once } from 'node:events'
import {
  type ChatAnswer,
  type ChatChoice,
  type ChatRequest,
  type Policy,
  PolicyError,
} from '../../environment/index.js'
import type { ChatMessage } from '../../text/index.js'
import { EventStream } from '../choice-writer.js'
import { ApiError, badRequest } from '../errors.js'
import type { Exchange } from '../exchange.js'
import { chatFields, streamOptionsFields } from '../field-tables.js'
import { type FieldsOf, RequestShape } from '../request-shape.js'

const chatShape = new RequestShape(chatFields)
const streamShape = new RequestShape(streamOptionsFields, 'body.stream_options')
/** Comments of a stream, so that no proxy closes it while the policy speaks. */
const secondsBetweenComments = 10

export type ChatFields = FieldsOf<typeof chatFields>

interface RecordedChatOptions {
  /** The name of the model in answers. */
  readonly model: string
  /** Sampling parameters of the request that count; undefined: those of the run. */
  sampling?(fields: ChatFields): ChatRequest['sampling']
}

/** Answers a request. The answer counts as delivered when the client has all of it. */
export async function recordedChat(
  policy: Policy,
  exchange: Exchange,
  { model, sampling }: RecordedChatOptions,
): Promise<void> {
  const { body, request } = exchange
  const fields = chatShape.read(body)
  if (fields.logprobs) throw badRequest('logprobs are not given to recorded sessions.', 'logprobs')
  const asked: ChatRequest = {
    messages: (fields.messages ?? []) as readonly ChatMessage[],
    tools: body.tool_choice === 'none' ? undefined : fields.tools,
    variables: fields.chat_template_kwargs,
    n: fields.n,
    maxTokens: fields.max_completion_tokens ?? fields.max_tokens,
    stop: fields.stop,
    sampling: sampling?.(fields),
    isRepeated: Number(request.headers['x-stainless-retry-count'] ?? 0) > 0,
    idempotencyKey: [request.headers['idempotency-key']].flat()[0],
  }
  const head = { id: `chatcmpl-${exchange.id(fields.request_id)}`, created: exchange.created, model }
  const answering = policy.chat(asked, { signal: exchange.signal })
  if (fields.stream) await stream(answering, exchange, head, fields)
  else await answer(answering, exchange, head)
}

async function answer(answering: Promise<ChatAnswer>, exchange: Exchange, head: object): Promise<void> {
  const answered = await answering.catch(refuse)
  const choices = answered.choices.map((choice, index) => ({
    index,
    message: { refusal: null, ...choice.message },
    logprobs: null,
    finish_reason: choice.finishReason,
  }))
  exchange.json(200, { ...head, object: 'chat.completion', choices, usage: usageOf(answered) })
  await delivered(exchange, answered)
}

/** The whole turn at its end: what the client puts together is what was recorded. */
async function stream(
  answering: Promise<ChatAnswer>,
  exchange: Exchange,
  head: object,
  { stream_options: options }: ChatFields,
): Promise<void> {
  const wantsUsage = streamShape.read(options ?? {}).include_usage ?? false
  // A refusal before the first event has a status of its own.
  const early = await Promise.race([answering.then(() => undefined, refusal), soon(secondsBetweenComments)])
  if (early instanceof ApiError) throw early
  const events = new EventStream(exchange.response, exchange)
  const timer = setInterval(() => exchange.response.write(': waiting\n\n'), secondsBetweenComments * 1000)
  const add = (index: number, delta: object, reason: string | null = null): void =>
    events.add({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index, delta, logprobs: null, finish_reason: reason }],
      ...(wantsUsage ? { usage: null } : {}),
    })
  try {
    const answered = await answering
    for (const [index, { message, finishReason }] of answered.choices.entries()) {
      add(index, { role: 'assistant', content: message.content === null ? null : '' })
      if (message.content) add(index, { content: message.content })
      const calls = message.tool_calls ?? []
      for (const [place, call] of calls.entries()) add(index, { tool_calls: [{ index: place, ...call }] })
      add(index, {}, finishReason)
      await events.flush()
    }
    if (wantsUsage) events.add({ ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(answered) })
    events.end()
    await delivered(exchange, answered)
  } catch (error) {
    events.add((refusal(error) ?? new ApiError(500, 'the request failed')).body)
    events.end()
  } finally {
    clearInterval(timer)
  }
}

async function delivered({ response }: Exchange, answered: ChatAnswer): Promise<void> {
  if (!response.writableFinished && !response.destroyed)
    await Promise.race([once(response, 'finish'), once(response, 'close')]).catch(() => {})
  if (response.writableFinished) answered.delivered()
}

function usageOf({ promptIds, choices }: ChatAnswer): object {
  const completion = choices.reduce((sum, one: ChatChoice) => sum + one.completion.responseIds.length, 0)
  return {
    prompt_tokens: promptIds.length,
    completion_tokens: completion,
    total_tokens: promptIds.length + completion,
  }
}

const statuses: Readonly<Record<PolicyError['reason'], number>> = {
  request: 400,
  limit: 400,
  busy: 429,
  ended: 410,
  generator: 502,
}

/** The answer to a request that the policy refused; undefined for any other error. */
function refusal(error: unknown): ApiError | undefined {
  if (!(error instanceof PolicyError)) return error instanceof ApiError ? error : undefined
  const type = error.reason === 'limit' ? { type: 'EpisodeLimitError' } : {}
  return new ApiError(statuses[error.reason], error.message, type)
}

function refuse(error: unknown): never {
  throw refusal(error) ?? error
}

function soon(seconds: number): Promise<undefined> {
  return new Promise(resolve => setTimeout(() => resolve(undefined), seconds * 1000).unref())
}
