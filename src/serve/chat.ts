/** `POST /v1/chat/completions`. */
import type { Sample } from '../rollout/index.js'
import { type ChatMessage, ChatTemplateError } from '../text/index.js'
import { badRequest } from './errors.js'
import type { Exchange, Served } from './exchange.js'
import { Fields } from './fields.js'
import { checkPrompts, type Generation, runGeneration, usage } from './run-request.js'
import { logprobCount, readSampling } from './sampling-fields.js'
import { stopText } from './stop-text.js'
import { streamChoices } from './stream-choices.js'
import { chatLogprobs, promptLogprobs, scoreOf, scoresOf } from './token-text.js'

interface ChatRequest extends Generation {
  fields: Fields
  returnIds: boolean
  /** The alternatives of each token; undefined: no log-probabilities at all. */
  logprobs: number | undefined
}

export async function chatCompletions(served: Served, exchange: Exchange): Promise<void> {
  const fields = new Fields(exchange.body)
  served.checkModel(fields)
  const sampling = readSampling(fields, { text: true })
  const promptIds = await encodeMessages(served, fields)
  const logprobs = fields.flag('logprobs') ? (logprobCount(fields, 'top_logprobs') ?? 0) : undefined
  const request: ChatRequest = {
    id: `chatcmpl-${exchange.id(fields)}`,
    prompts: [promptIds],
    sampling,
    maxTokens: fields.integer('max_completion_tokens') ?? fields.integer('max_tokens'),
    // Of 0 only the token's own is shown.
    topLogprobs: logprobs || undefined,
    logprobs,
    fields,
    returnIds: fields.flag('return_token_ids') ?? false,
  }
  checkPrompts(request, served.limits)
  if (fields.flag('stream')) await stream(served, exchange, request)
  else exchange.json(200, await answer(served, exchange, request))
}

/** The ids of a conversation; what is wrong with it is the client's to mend. */
export async function encodeMessages({ tokenizer }: Served, fields: Fields): Promise<Int32Array> {
  if (!tokenizer) throw badRequest('this model has no tokenizer, and so no chat.', 'messages')
  const tools = fields.list('tools') as readonly object[] | undefined
  const continueFinalMessage = fields.flag('continue_final_message') ?? false
  try {
    return await tokenizer.encodeChat((fields.list('messages') ?? []) as readonly ChatMessage[], {
      addGenerationPrompt: fields.flag('add_generation_prompt') ?? !continueFinalMessage,
      continueFinalMessage,
      ...(tools ? { tools } : {}),
      variables: fields.object('chat_template_kwargs') ?? {},
    })
  } catch (error) {
    if (error instanceof ChatTemplateError) throw badRequest(error.message, 'messages')
    throw error
  }
}

async function answer(served: Served, exchange: Exchange, request: ChatRequest): Promise<object> {
  const found: Sample[] = []
  const onCompletion = (_: number, completion: Sample): void => {
    found[completion.sample] = completion
  }
  await runGeneration(served.engine, request, { onCompletion }, exchange.signal)
  const { returnIds, logprobs, sampling, fields } = request
  const show = served.texts.show(fields.flag('return_tokens_as_token_ids') ?? false)
  const choices = found.map(async (completion, index) => ({
    index,
    message: {
      role: 'assistant',
      content: (completion.text ?? '') + (await stopText(served.tokenizer, completion, sampling)),
      refusal: null,
    },
    logprobs: logprobs === undefined ? null : await chatLogprobs(scoresOf(completion), show),
    finish_reason: completion.finishReason,
    stop_reason: completion.stopReason ?? null,
    token_ids: returnIds ? Array.from(completion.responseIds) : null,
  }))
  return {
    id: request.id,
    object: 'chat.completion',
    created: exchange.created,
    model: served.name,
    choices: await Promise.all(choices),
    usage: usage(found, request),
    prompt_logprobs: sampling.promptLogprobs === undefined ? null : await promptLogprobs(found[0]!, show),
    prompt_token_ids: returnIds ? Array.from(request.prompts[0]!) : null,
  }
}

async function stream(served: Served, exchange: Exchange, request: ChatRequest): Promise<void> {
  const { returnIds, logprobs, sampling, fields } = request
  const show = served.texts.show(fields.flag('return_tokens_as_token_ids') ?? false)
  const head = { id: request.id, object: 'chat.completion.chunk', created: exchange.created, model: served.name }
  await streamChoices(served, exchange, request, {
    head,
    opening: Array.from({ length: sampling.n }, (_, index) => ({
      index,
      delta: { role: 'assistant', content: '' },
      logprobs: null,
      finish_reason: null,
    })),
    chunk: async ({ index, event, completion, first, promptIds }) => ({
      index,
      delta: {
        content: (event?.text ?? '') + (completion ? await stopText(served.tokenizer, completion, sampling) : ''),
      },
      logprobs: logprobs === undefined || !event ? null : await chatLogprobs([scoreOf(event)], show),
      finish_reason: completion?.finishReason ?? null,
      stop_reason: completion?.stopReason ?? null,
      ...(returnIds
        ? { token_ids: event ? [event.id] : [], ...(first ? { prompt_token_ids: Array.from(promptIds) } : {}) }
        : {}),
    }),
  })
}
