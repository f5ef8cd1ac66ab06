/** `POST /v1/completions` and `POST /v1/chat/completions`: one request and answer in two formats. */
import type { Sample } from '../rollout/index.js'
import type { ToolFormat } from '../text/index.js'
import { encodeMessages, encodeText } from './encode-prompts.js'
import { badRequest } from './errors.js'
import { type Exchange, type Served, weightsOf } from './exchange.js'
import type { GivenPrompt } from './field-schemas.js'
import { chatFields, completionFields } from './field-tables.js'
import { tellingOf } from './logprobs-mode.js'
import { type FieldsOf, RequestShape } from './request-shape.js'
import { checkPrompts, usage } from './run-request.js'
import { logprobCount, readSampling, type SamplingRequest, withDefaults } from './sampling-fields.js'
import { checkStream, collectSamples, type StreamRequest, streamChoices } from './stream-choices.js'
import {
  chatLogprobs,
  completionLogprobs,
  joined,
  promptLogprobs,
  promptScoresOf,
  type RowList,
  rowsLater,
  rowsNow,
  scoresOf,
  scoresOfEvents,
  type TokenShow,
} from './token-text.js'
import { CallHolder, formatOf, type ToolAnswer, toolAnswer, withoutSpecial } from './tool-answer.js'
import { LazyList } from './write-json.js'

type CompletionFields = FieldsOf<typeof completionFields>
type ChatFields = FieldsOf<typeof chatFields>

interface TextRequest extends StreamRequest {
  format: Format
  isStreamed: boolean
  returnIds: boolean
  show: TokenShow
  /** Chats with tools: how the model writes calls. */
  toolFormat: ToolFormat | undefined
  /** Completions: the prompt is part of the answer. */
  echo: boolean
  /** Completions: `max_tokens: 0` with `echo`. One token is generated and dropped. */
  dropped: boolean
}

/** Where the two formats differ. */
interface Format {
  readonly name: 'text' | 'chat'
  readonly id: string
  readonly object: string
  readonly eventObject: string
  /** The fields of a choice that hold its text, in an answer and in an event. */
  content(text: string): object
  delta(text: string): object
  logprobs(rows: RowList, offset: number): object
  /** The ids of an event; `promptIds` with the first event of a choice. */
  eventIds(ids: readonly number[], promptIds: readonly number[] | null): object
}

const textFormat: Format = {
  name: 'text',
  id: 'cmpl',
  object: 'text_completion',
  eventObject: 'text_completion',
  content: text => ({ text }),
  delta: text => ({ text }),
  logprobs: completionLogprobs,
  eventIds: (ids, promptIds) => ({ prompt_token_ids: promptIds, token_ids: ids }),
}

const chatFormat: Format = {
  name: 'chat',
  id: 'chatcmpl',
  object: 'chat.completion',
  eventObject: 'chat.completion.chunk',
  content: content => ({ message: { role: 'assistant', content, refusal: null } }),
  delta: content => ({ delta: { content } }),
  logprobs: chatLogprobs,
  eventIds: (ids, promptIds) => ({ token_ids: ids, ...(promptIds ? { prompt_token_ids: promptIds } : {}) }),
}

const completionShape = new RequestShape(completionFields)
const chatShape = new RequestShape(chatFields)

export async function completions(served: Served, exchange: Exchange): Promise<void> {
  const fields = completionShape.read(exchange.body)
  const weights = weightsOf(served, fields.model)
  const echo = fields.echo ?? false
  const asked = fields.max_tokens ?? served.defaults.maxNewTokens ?? 16
  const dropped = echo && asked === 0
  const maxTokens = dropped ? 1 : asked
  const { capabilities } = served.engine
  const logprobs = logprobCount('logprobs', fields.logprobs, capabilities)
  const sampling = readSampling(withDefaults(fields, served.defaults), { ...served.limits, maxTokens, capabilities })
  if (echo && fields.stream) throw badRequest('echo with stream is not supported by this server.', 'echo')
  if (echo && !served.tokenizer) throw badRequest('echo needs a tokenizer, and this model has none.', 'echo')
  checkStream(fields, sampling)
  if (echo && logprobs !== undefined) sampling.params.promptLogprobs = Math.max(logprobs, sampling.promptLogprobs ?? 0)
  const prompts = await readPrompts(served, fields, exchange)
  await respond(served, exchange, {
    ...textOptions(served, exchange, fields, { sampling, logprobs, format: textFormat }),
    ...{ weights, prompts, maxTokens, echo, dropped, toolFormat: undefined },
  })
}

export async function chatCompletions(served: Served, exchange: Exchange): Promise<void> {
  const fields = chatShape.read(exchange.body)
  const weights = weightsOf(served, fields.model)
  const maxTokens = fields.max_completion_tokens ?? fields.max_tokens ?? served.defaults.maxNewTokens
  const { capabilities } = served.engine
  const sampling = readSampling(withDefaults(fields, served.defaults), { ...served.limits, maxTokens, capabilities })
  checkStream(fields, sampling)
  const count = logprobCount('top_logprobs', fields.top_logprobs, capabilities)
  if (count && !fields.logprobs)
    throw badRequest('when using top_logprobs, logprobs must be set to true.', 'top_logprobs')
  const logprobs = fields.logprobs ? (count ?? 0) : undefined
  const { tools, ...conversation } = fields
  const offered = exchange.body.tool_choice === 'none' ? undefined : tools
  const use = fields.truncate_prompt_tokens === undefined ? 'whole' : 'cut'
  const { ids, media } = await encodeMessages(served, { ...conversation, tools: offered }, use, exchange)
  const toolFormat = served.tokenizer && formatOf(served.tokenizer, offered)
  // Some families mark calls with special tokens.
  if (toolFormat && capabilities.text) sampling.params.text = 'with-special'
  await respond(served, exchange, {
    ...textOptions(served, exchange, fields, { sampling, logprobs, format: chatFormat }),
    ...{ weights, prompts: [ids], media: [media], maxTokens, echo: false, dropped: false, toolFormat },
  })
}

function textOptions(
  { texts, logprobsMode, limits: { eosIds } }: Served,
  exchange: Exchange,
  fields: CompletionFields | ChatFields,
  { format, sampling, logprobs }: { format: Format; sampling: SamplingRequest; logprobs: number | undefined },
): Omit<TextRequest, 'weights' | 'prompts' | 'maxTokens' | 'echo' | 'dropped' | 'toolFormat'> {
  return {
    id: `${format.id}-${exchange.id(fields.request_id)}`,
    format,
    sampling,
    logprobs,
    // With 0 only the sampled token is shown.
    topLogprobs: logprobs || undefined,
    told: tellingOf(logprobsMode, { sampling, alternatives: logprobs ?? 0, eosIds }),
    returnIds: fields.return_token_ids ?? false,
    show: texts.show(fields.return_tokens_as_token_ids ?? false),
    isStreamed: fields.stream ?? false,
    streamOptions: fields.stream_options,
  }
}

/** How many texts of a request are encoded at the same time. */
const atOnce = 8

async function readPrompts(served: Served, fields: CompletionFields, exchange: Exchange): Promise<Int32Array[]> {
  const { prompt } = fields
  const empty = badRequest('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt')
  if (prompt === undefined || (prompt.length === 1 && prompt[0] === '')) throw empty
  if (prompt.length === 0) throw badRequest('You must pass at least one prompt')
  if (prompt.length > 1024) throw badRequest(`at most 1024 prompts in a request, got ${prompt.length}.`, 'prompt')
  const addSpecialTokens = fields.add_special_tokens ?? true
  const use = fields.truncate_prompt_tokens === undefined ? 'whole' : 'cut'
  const read = async (one: GivenPrompt): Promise<Int32Array> => {
    if (typeof one !== 'string') {
      if (one.length === 0) throw badRequest('a prompt without tokens', 'prompt')
      const wild = one.find(id => id < 0 || id >= 2 ** 31)
      if (wild !== undefined) throw badRequest(`Token id ${wild} is out of vocabulary`)
      return Int32Array.from(one)
    }
    if (!served.tokenizer) throw badRequest('this model has no tokenizer: a prompt is a list of token ids.', 'prompt')
    const ids = await encodeText(served, one, { addSpecialTokens, use }, exchange)
    if (ids.length === 0) throw empty
    return ids
  }
  const prompts: Int32Array[] = []
  for (let i = 0; i < prompt.length; i += atOnce)
    prompts.push(...(await Promise.all(prompt.slice(i, i + atOnce).map(read))))
  return prompts
}

async function respond(served: Served, exchange: Exchange, request: TextRequest): Promise<void> {
  checkPrompts(request, served.limits)
  if (request.isStreamed) await streamText(served, exchange, request)
  else await answer(served, exchange, request)
}

async function answer(served: Served, exchange: Exchange, request: TextRequest): Promise<void> {
  const { format, sampling, show, returnIds, prompts, dropped } = request
  const found = await collectSamples(served, exchange, request)
  const ofPrompt = (sample: Sample, ids: Int32Array): object => ({
    prompt_logprobs: sampling.promptLogprobs === undefined ? null : promptLogprobs(sample, show),
    prompt_token_ids: returnIds ? Array.from(ids) : null,
  })
  const isText = format.name === 'text'
  await exchange.answer({
    id: request.id,
    object: format.object,
    created: exchange.created,
    model: request.weights.name,
    choices: new LazyList(async function* () {
      for (const [index, sample] of found.entries()) {
        const shown = await choice(served, request, sample, index)
        yield [isText ? { ...shown, ...ofPrompt(sample, sample.promptIds) } : shown]
      }
    }),
    usage: usage(found, request, dropped ? 0 : undefined),
    ...(isText ? {} : ofPrompt(found[0]!, prompts[0]!)),
  })
}

async function choice(
  { tokenizer }: Served,
  { format, sampling, logprobs, told, returnIds, echo, dropped, show, toolFormat }: TextRequest,
  sample: Sample,
  index: number,
): Promise<object> {
  const { promptIds, responseIds, finishReason, stopReason } = sample
  let text = dropped ? '' : (sample.text ?? '') + (await stopText(tokenizer, sample, sampling))
  let scores = dropped ? { ...scoresOf(sample, told), length: 0 } : scoresOf(sample, told)
  if (echo) {
    const { skipSpecialTokens } = sampling
    text = (await tokenizer!.decode(promptIds, { skipSpecialTokens })) + text
    if (logprobs !== undefined) scores = joined(promptScoresOf(sample), scores)
  }
  const said = toolFormat && toolAnswer(text, toolFormat)
  return {
    index,
    ...(said ? { message: messageOf(said, shownText(tokenizer, sampling)) } : format.content(text)),
    logprobs: logprobs === undefined ? null : format.logprobs(rowsLater(scores, show), 0),
    finish_reason: dropped ? 'length' : said?.calls.length ? 'tool_calls' : finishReason,
    stop_reason: dropped ? null : (stopReason ?? null),
    token_ids: returnIds ? Array.from(responseIds) : null,
  }
}

/** The text of an answer, without special tokens unless the client asked for them. */
function shownText(tokenizer: Served['tokenizer'], { skipSpecialTokens }: SamplingRequest): (text: string) => string {
  return text => (skipSpecialTokens && tokenizer ? withoutSpecial(tokenizer, text) : text)
}

function messageOf({ content, calls }: ToolAnswer, shown: (text: string) => string): object {
  const text = content === null ? null : shown(content)
  return { role: 'assistant', content: text, refusal: null, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
}

async function streamText(served: Served, exchange: Exchange, request: TextRequest): Promise<void> {
  const { format, returnIds, logprobs, told, sampling, show, toolFormat } = request
  const holders = new Map<number, CallHolder>()
  const clean = shownText(served.tokenizer, sampling)
  const holderOf = (index: number, of: ToolFormat): CallHolder => {
    const known = holders.get(index) ?? new CallHolder(of)
    holders.set(index, known)
    return known
  }
  const isChat = format.name === 'chat'
  const role = { role: 'assistant', content: '' }
  const offsets = new Map<number, number>()
  await streamChoices(served, exchange, request, {
    head: { id: request.id, object: format.eventObject, created: exchange.created, model: request.weights.name },
    opening: isChat
      ? Array.from({ length: sampling.n }, (_, index) => ({ index, delta: role, logprobs: null, finish_reason: null }))
      : [],
    choice: ({ index, events, sample, first, start }, promptIds) => {
      const written = events.length === 1 ? events[0]!.text : events.map(event => event.text).join('')
      const holder = toolFormat && holderOf(index, toolFormat)
      let text = holder ? clean(holder.push(written)) : written
      const ended = sample && holder?.end()
      if (ended) text += clean(ended.content ?? '')
      const calls = ended?.calls ?? []
      const offset = offsets.get(index) ?? 0
      offsets.set(index, offset + text.length)
      const shown = (tail: string, scores: object | null): object => ({
        index,
        ...(calls.length > 0 ? { delta: callsDelta(text, calls) } : format.delta(text + tail)),
        logprobs: scores,
        finish_reason: sample ? (calls.length > 0 ? 'tool_calls' : sample.finishReason) : null,
        stop_reason: sample?.stopReason ?? null,
        ...(returnIds
          ? format.eventIds(
              events.map(({ id }) => id),
              first ? Array.from(promptIds) : null,
            )
          : {}),
      })
      const tail = sample && sampling.includeStop ? stopText(served.tokenizer, sample, sampling) : ''
      if (logprobs === undefined || (isChat && events.length === 0))
        return tail === '' ? shown('', null) : tail.then(known => shown(known, null))
      return rowsNow(scoresOfEvents(events, start, told), show).then(async rows =>
        shown(await tail, format.logprobs(rows, offset)),
      )
    },
  })
}

/** Each call as a whole, with its place, as clients put deltas together. */
function callsDelta(text: string, calls: ToolAnswer['calls']): object {
  return { ...(text === '' ? {} : { content: text }), tool_calls: calls.map((call, index) => ({ index, ...call })) }
}

/** The text that ended a response, for `include_stop_str_in_output`. */
async function stopText(
  tokenizer: Served['tokenizer'],
  { finishReason, stopReason, responseIds }: Sample,
  { includeStop, skipSpecialTokens }: SamplingRequest,
): Promise<string> {
  if (!includeStop || finishReason !== 'stop' || !tokenizer) return ''
  if (typeof stopReason === 'string') return stopReason
  return tokenizer.decode(responseIds.subarray(-1), { skipSpecialTokens })
}
