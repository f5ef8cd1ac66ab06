/** `POST /v1/completions`. */
import type { Sample, TokenEvent } from '../rollout/index.js'
import { badRequest, malformed } from './errors.js'
import type { Exchange, Served } from './exchange.js'
import { Fields } from './fields.js'
import { checkPrompts, type Generation, runGeneration, usage } from './run-request.js'
import { logprobCount, readSampling } from './sampling-fields.js'
import { stopText } from './stop-text.js'
import { streamChoices } from './stream-choices.js'
import { completionLogprobs, promptLogprobs, scoreOf, scoresOf, type TokenScore } from './token-text.js'

interface CompletionRequest extends Generation {
  fields: Fields
  echo: boolean
  /** `max_tokens: 0` with `echo`: one token is generated and dropped. */
  dropped: boolean
  returnIds: boolean
  logprobs: number | undefined
}

export async function completions(served: Served, exchange: Exchange): Promise<void> {
  const fields = new Fields(exchange.body)
  served.checkModel(fields)
  const request = await readRequest(served, fields, exchange)
  checkPrompts(request, served.limits)
  if (fields.flag('stream')) await stream(served, exchange, request)
  else exchange.json(200, await answer(served, exchange, request))
}

async function readRequest(served: Served, fields: Fields, exchange: Exchange): Promise<CompletionRequest> {
  const sampling = readSampling(fields, { text: served.tokenizer !== undefined })
  const prompts = await readPrompts(served, fields)
  const logprobs = logprobCount(fields, 'logprobs')
  const echo = fields.flag('echo') ?? false
  const asked = fields.integer('max_tokens') ?? 16
  const dropped = echo && asked === 0
  if (echo && fields.flag('stream')) throw badRequest('echo with stream is not supported by this server.', 'echo')
  if (echo && !served.tokenizer) throw badRequest('echo needs a tokenizer, and this model has none.', 'echo')
  if (echo && logprobs !== undefined) sampling.params.promptLogprobs = Math.max(logprobs, sampling.promptLogprobs ?? 0)
  return {
    id: `cmpl-${exchange.id(fields)}`,
    prompts,
    sampling,
    maxTokens: dropped ? 1 : asked,
    // Of 0 only the token's own is shown.
    topLogprobs: logprobs || undefined,
    logprobs,
    echo,
    dropped,
    fields,
    returnIds: fields.flag('return_token_ids') ?? false,
  }
}

const isIds = (value: unknown): value is number[] => Array.isArray(value) && value.every(Number.isInteger)

async function readPrompts({ tokenizer }: Served, fields: Fields): Promise<Int32Array[]> {
  const { prompt } = fields.raw
  if (prompt === undefined || prompt === null || prompt === '')
    throw badRequest('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt')
  if (Array.isArray(prompt) && prompt.length === 0) throw badRequest('You must pass at least one prompt')
  const list: unknown[] = typeof prompt === 'string' || isIds(prompt) ? [prompt] : Array.isArray(prompt) ? prompt : []
  if (list.length === 0 || !list.every(one => typeof one === 'string' || isIds(one)))
    throw malformed(
      'prompt: Input should be a valid string, list of strings, list of integers or list of those',
      'body.prompt',
    )
  if (list.length > 1024) throw badRequest(`at most 1024 prompts in a request, got ${list.length}.`, 'prompt')
  const addSpecialTokens = fields.flag('add_special_tokens') ?? true
  return Promise.all(
    list.map(async one => {
      if (isIds(one)) {
        if (one.length === 0) throw badRequest('a prompt without tokens', 'prompt')
        const wild = one.find(id => id < 0 || id >= 2 ** 31)
        if (wild !== undefined) throw badRequest(`Token id ${wild} is out of vocabulary`)
        return Int32Array.from(one)
      }
      if (!tokenizer) throw badRequest('this model has no tokenizer: a prompt is a list of token ids.', 'prompt')
      const ids = await tokenizer.encode(one as string, { addSpecialTokens })
      if (ids.length === 0) throw badRequest('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt')
      return ids
    }),
  )
}

async function answer(served: Served, exchange: Exchange, request: CompletionRequest): Promise<object> {
  const { n } = request.sampling
  const found: Sample[] = []
  const onCompletion = (prompt: number, completion: Sample): void => {
    found[prompt * n + completion.sample] = completion
  }
  await runGeneration(served.engine, request, { onCompletion }, exchange.signal)
  const choices = await Promise.all(found.map((completion, index) => choice(served, request, completion, index)))
  return {
    id: request.id,
    object: 'text_completion',
    created: exchange.created,
    model: served.name,
    choices,
    usage: usage(found, request, request.dropped ? 0 : undefined),
  }
}

async function choice(
  { tokenizer, texts }: Served,
  { sampling, logprobs, returnIds, echo, dropped, fields }: CompletionRequest,
  completion: Sample,
  index: number,
): Promise<object> {
  const show = texts.show(fields.flag('return_tokens_as_token_ids') ?? false)
  const { promptIds, responseIds, finishReason, stopReason } = completion
  let text = dropped ? '' : (completion.text ?? '') + (await stopText(tokenizer, completion, sampling))
  let scores = dropped ? [] : scoresOf(completion)
  let before: { id: number; logprob: number }[] = []
  if (echo) {
    const { skipSpecialTokens } = sampling
    text = (await tokenizer!.decode(promptIds, { skipSpecialTokens })) + text
    if (logprobs !== undefined) {
      const found = completion.promptLogprobs!
      before = Array.from(promptIds, (id, i) => ({ id, logprob: i === 0 ? Number.NaN : found.logprobs[i - 1]! }))
      scores = [...before.map(({ id, logprob }, i): TokenScore => ({ id, logprob, top: found.top[i - 1] })), ...scores]
    }
  }
  const shown = logprobs === undefined ? null : await completionLogprobs(scores, show)
  if (shown && before.length > 0) {
    // Nothing comes before the first token.
    const lists = shown as { token_logprobs: unknown[]; top_logprobs: unknown[] }
    lists.token_logprobs[0] = null
    lists.top_logprobs[0] = null
  }
  return {
    index,
    text,
    logprobs: shown,
    finish_reason: dropped ? 'length' : finishReason,
    stop_reason: dropped ? null : (stopReason ?? null),
    token_ids: returnIds ? Array.from(responseIds) : null,
    prompt_logprobs: sampling.promptLogprobs === undefined ? null : await promptLogprobs(completion, show),
    prompt_token_ids: returnIds ? Array.from(promptIds) : null,
  }
}

async function stream(served: Served, exchange: Exchange, request: CompletionRequest): Promise<void> {
  const { fields, returnIds, logprobs, sampling } = request
  const show = served.texts.show(fields.flag('return_tokens_as_token_ids') ?? false)
  const head = { id: request.id, object: 'text_completion', created: exchange.created, model: served.name }
  const offsets = new Map<number, number>()
  await streamChoices(served, exchange, request, {
    head,
    chunk: async ({ index, event, completion, first, promptIds }) => {
      const tail = completion ? await stopText(served.tokenizer, completion, sampling) : ''
      const scores = event ? [scoreOf(event as TokenEvent)] : []
      const offset = offsets.get(index) ?? 0
      offsets.set(index, offset + (event?.text.length ?? 0))
      return {
        index,
        text: (event?.text ?? '') + tail,
        logprobs: logprobs === undefined ? null : await completionLogprobs(scores, show, offset),
        finish_reason: completion?.finishReason ?? null,
        stop_reason: completion?.stopReason ?? null,
        ...(returnIds
          ? { prompt_token_ids: first ? Array.from(promptIds) : null, token_ids: event ? [event.id] : [] }
          : {}),
      }
    },
  })
}
