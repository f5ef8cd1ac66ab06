/** Encodes texts and conversations. Refuses a text that cannot fit the context before all of it is encoded. */
import {
  type ChatMessage,
  ChatTemplateError,
  placedTypes,
  placeMedia,
  type Tokenizer,
  templateMessages,
} from '../text/index.js'
import { badRequest } from './errors.js'
import type { Exchange, Served } from './exchange.js'
import type { tokenizeFields } from './field-tables.js'
import type { EncodedPrompt } from './request-media.js'
import type { FieldsOf } from './request-shape.js'
import { tooLong } from './run-request.js'

interface TextOptions {
  addSpecialTokens: boolean
  /** `cut`: the text may exceed the context, because it is truncated or only counted. It is still limited. */
  use: 'whole' | 'cut'
}

/** Limit of a `cut` text, in contexts. */
const cutContexts = 8

export async function encodeText(
  { encoder, limits: { maxLength } }: Served,
  text: string,
  { addSpecialTokens, use }: TextOptions,
  { signal }: Exchange,
): Promise<Int32Array> {
  const maxTokens = use === 'cut' ? cutContexts * maxLength : maxLength
  const encoding = await encoder!.encode(text, { addSpecialTokens, maxTokens, signal })
  if (encoding.kind === 'encoded') return encoding.ids
  const found = `at least ${encoding.atLeast}`
  if (use === 'whole') throw tooLong(found, maxLength)
  throw badRequest(`a text may have ${maxTokens} tokens before it is cut, this one has ${found}.`, 'input_tokens')
}

/** A template renders this many in a tenth of a second. */
const mostMessages = 2048

type ConversationFields = Pick<
  FieldsOf<typeof tokenizeFields>,
  | 'messages'
  | 'tools'
  | 'documents'
  | 'add_generation_prompt'
  | 'continue_final_message'
  | 'add_special_tokens'
  | 'chat_template_kwargs'
  | 'media_io_kwargs'
>

/** The ids and media of a conversation; a problem with it is an error of the client. */
export async function encodeMessages(
  served: Served,
  fields: ConversationFields,
  use: TextOptions['use'],
  exchange: Exchange,
): Promise<EncodedPrompt> {
  const { tokenizer, limits, media } = served
  if (!tokenizer) throw badRequest('this model has no tokenizer, and so no chat.', 'messages')
  const given = templateMessages((fields.messages ?? []) as readonly ChatMessage[])
  const most = Math.min(mostMessages, limits.maxLength)
  if (given.length > most)
    throw badRequest(`a conversation may have ${most} messages, this one has ${given.length}.`, 'messages')
  let placed: { prompt: readonly ChatMessage[]; images: readonly unknown[]; videos: readonly unknown[] }
  let text: string
  try {
    placed = media && hasParts(given) ? (placeMedia(given) as typeof placed) : { prompt: given, images: [], videos: [] }
    text = render(tokenizer, placed.prompt, fields, media ? placedTypes : [])
  } catch (error) {
    if (error instanceof ChatTemplateError) throw badRequest(error.message, 'messages')
    throw error
  }
  const ids = await encodeText(served, text, { addSpecialTokens: fields.add_special_tokens ?? false, use }, exchange)
  const { images, videos } = placed
  const fps = fields.media_io_kwargs?.video?.fps
  return media ? media.read(ids, { images, videos, fps, param: 'messages' }, exchange) : { ids, media: [] }
}

/** Whether some message has parts, and all parts have types. What is malformed is left to the template, which names it. */
function hasParts(messages: readonly ChatMessage[]): boolean {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
  const contents = messages.map(message => (isObject(message) ? message.content : undefined))
  if (!contents.some(Array.isArray)) return false
  return contents.every(content => {
    if (!Array.isArray(content)) return typeof content === 'string' || content === null || content === undefined
    return content.every(part => isObject(part) && typeof (part as { type?: unknown }).type === 'string')
  })
}

function render(
  tokenizer: Tokenizer,
  messages: readonly ChatMessage[],
  fields: ConversationFields,
  mediaTypes: readonly string[],
): string {
  const continueFinalMessage = fields.continue_final_message ?? false
  const plain = {
    addGenerationPrompt: fields.add_generation_prompt ?? !continueFinalMessage,
    continueFinalMessage,
    mediaTypes,
    variables: fields.chat_template_kwargs ?? {},
  }
  const { tools = [], documents = [] } = fields
  let options: Parameters<Tokenizer['renderChat']>[1] = plain
  let text = ''
  // Refused where the template does not use them: the answer would look as if it did.
  for (const [name, given] of [
    ['tools', tools],
    ['documents', documents],
  ] as const) {
    if (given.length === 0) continue
    const without = tokenizer.renderChat(messages, options)
    options = { ...options, [name]: given }
    text = tokenizer.renderChat(messages, options)
    if (text === without) throw badRequest(`${name}: this model's chat template does not use them.`, name)
  }
  return text || tokenizer.renderChat(messages, options)
}
