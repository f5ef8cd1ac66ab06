/** Rows as token ids: what a trainer computes with, cut or left out where they are too long. */
import {
  type ChatMessage,
  ChatTemplateError,
  encodeTurns,
  fitPrompt,
  promptTurns,
  type Tokenizer,
} from '../text/index.js'
import type { ConversationRow } from './formats/conversations.js'
import type { LabelledRow } from './formats/labelled.js'
import type { PreferenceRow } from './formats/preferences.js'
import { type Answer, type Prompt, withSystem } from './formats/prompt.js'
import type { DataOptions } from './options.js'
import type { PromptRow } from './prompts.js'
import type { ExampleKind, Examples } from './types.js'

/** What a row of each kind is before it is encoded. */
export interface Rows {
  conversations: ConversationRow
  preferences: PreferenceRow
  labelled: LabelledRow
  prompts: PromptRow
}

export interface EncodeOptions
  extends Pick<DataOptions, 'maxLength' | 'overlong' | 'systemPrompt' | 'chatTemplate' | 'trainOn'> {
  readonly tokenizer: Tokenizer
  readonly answerEnd?: AnswerEnd | undefined
}

/**
 * Where the answers of preferences end. `turn`: with the token that ends the turn, the last one that is generated. `template`: with what
 * the chat template writes after it, such as a newline, as in the whole conversation that a reward model reads. Default `turn`.
 */
export type AnswerEnd = 'turn' | 'template'

export type Encoded<E> =
  | { readonly kind: 'example'; readonly example: E; readonly truncated: boolean }
  | { readonly kind: 'dropped'; readonly reason: string; readonly message: string }

/** An example without what names it. */
export type Content<K extends ExampleKind> = Omit<Examples[K], 'where' | 'promptId'>

const encoders: { [K in ExampleKind]: (row: Rows[K], options: EncodeOptions) => Promise<Encoded<Content<K>>> } = {
  conversations: encodeConversation,
  preferences: encodePreference,
  labelled: encodeLabelled,
  prompts: encodePromptRow,
}

/** A conversation that the template cannot render is a bad row that only a tokenizer could find. */
export async function encodeRow<K extends ExampleKind>(
  kind: K,
  row: Rows[K],
  options: EncodeOptions,
): Promise<Encoded<Content<K>>> {
  try {
    return await encoders[kind](row, options)
  } catch (error) {
    if (error instanceof ChatTemplateError) return dropped('template', error.message)
    throw error
  }
}

async function encodeConversation(
  row: ConversationRow,
  options: EncodeOptions,
): Promise<Encoded<Content<'conversations'>>> {
  const { ids: whole, mask: wholeMask } = await maskedIds(row, options)
  const { maxLength = Number.POSITIVE_INFINITY, overlong = 'truncate' } = options
  const truncated = whole.length > maxLength
  if (truncated && overlong === 'drop') return tooLong(whole.length, maxLength)
  const ids = truncated ? whole.slice(0, maxLength) : whole
  const mask = truncated ? wholeMask.slice(0, maxLength) : wholeMask
  if (options.trainOn === 'all') mask.fill(1)
  mask[0] = 0
  if (mask.includes(1)) return { kind: 'example', example: { ids, mask, truncated }, truncated }
  if (!truncated) return dropped('nothing-to-train', 'it has no trained token')
  return dropped('overlong', `${whole.length} tokens, and none of the first ${maxLength} is a trained token`)
}

async function maskedIds(row: ConversationRow, options: EncodeOptions): Promise<{ ids: Int32Array; mask: Uint8Array }> {
  const { tokenizer } = options
  if (row.form === 'messages') {
    const { ids, assistantMask } = await tokenizer.encodeConversation(
      row.messages,
      row.tools ? { tools: row.tools } : {},
    )
    return { ids, mask: assistantMask }
  }
  if (row.form === 'text') {
    const ids = withEos(await tokenizer.encodePrompt(row.text), tokenizer)
    return { ids, mask: new Uint8Array(ids.length).fill(1) }
  }
  const { prompt, answer } = await encodeAnswer(row.prompt, row.answer, options)
  const ids = joined(prompt, answer)
  return { ids, mask: new Uint8Array(ids.length).fill(1, prompt.length) }
}

async function encodePreference(row: PreferenceRow, options: EncodeOptions): Promise<Encoded<Content<'preferences'>>> {
  const [chosen, rejected] = await Promise.all([
    encodeAnswer(row.prompt, row.chosen, options),
    encodeAnswer(row.prompt, row.rejected, options),
  ])
  const fitted = await fitBefore(Math.max(chosen.answer.length, rejected.answer.length), chosen, options)
  if (fitted.kind === 'dropped') return fitted
  const { prompt, truncated } = fitted
  const example = {
    chosen: joined(prompt, chosen.answer),
    rejected: joined(prompt, rejected.answer),
    promptLength: prompt.length,
    ...(row.margin === undefined ? {} : { margin: row.margin }),
  }
  return { kind: 'example', example, truncated }
}

async function encodeLabelled(row: LabelledRow, options: EncodeOptions): Promise<Encoded<Content<'labelled'>>> {
  const encoded = await encodeAnswer(row.prompt, row.answer, options)
  const { answer } = encoded
  const fitted = await fitBefore(answer.length, encoded, options)
  if (fitted.kind === 'dropped') return fitted
  const { prompt, truncated } = fitted
  const example = { ids: joined(prompt, answer), promptLength: prompt.length, desirable: row.desirable }
  return { kind: 'example', example, truncated }
}

/** A prompt stays text or messages: whoever generates from it encodes it, and cuts it where it is to be cut. */
async function encodePromptRow(row: PromptRow, options: EncodeOptions): Promise<Encoded<Content<'prompts'>>> {
  const { tokenizer, maxLength, overlong = 'drop' } = options
  const prompt = asTurns(row.prompt, options)
  if (maxLength !== undefined && overlong === 'drop') {
    const { length } = await encodeTurns(prompt, tokenizer)
    if (length > maxLength) return tooLong(length, maxLength)
  }
  const { where: _, ...rest } = row
  return { kind: 'example', example: { ...rest, prompt }, truncated: false }
}

/** A text prompt is a user's turn where there is a template, behind the system prompt of the config. */
function asTurns(prompt: Prompt, options: EncodeOptions): Prompt {
  const turns = promptTurns(prompt, options.tokenizer, options.chatTemplate)
  return typeof prompt !== 'string' || typeof turns === 'string' ? turns : withSystem(turns, options)
}

interface EncodedAnswer {
  /** What the prompt's ids were made of. */
  readonly turns: Prompt
  readonly prompt: Int32Array
  readonly answer: Int32Array
}

async function encodeAnswer(prompt: Prompt, answer: Answer, options: EncodeOptions): Promise<EncodedAnswer> {
  const { tokenizer, answerEnd } = options
  const turns = asTurns(prompt, options)
  if (typeof turns === 'string' && typeof answer === 'string') {
    const ids = await tokenizer.encode(answer, { addSpecialTokens: false })
    return { turns, prompt: await tokenizer.encodePrompt(turns), answer: withEos(ids, tokenizer) }
  }
  const messages: readonly ChatMessage[] =
    typeof turns === 'string' ? withSystem([{ role: 'user', content: turns }], options) : turns
  const said: readonly ChatMessage[] = typeof answer === 'string' ? [{ role: 'assistant', content: answer }] : answer
  const encoded = await tokenizer.encodeAnswer(messages, said)
  const { prompt: before, answer: turn, tail } = encoded
  return { turns: messages, prompt: before, answer: answerEnd === 'template' ? joined(turn, tail) : turn }
}

/** A model has to learn to stop. */
function withEos(ids: Int32Array, { eosId }: Tokenizer): Int32Array {
  return eosId === undefined || ids.at(-1) === eosId ? ids : joined(ids, Int32Array.of(eosId))
}

/** A prompt that leaves room for its answer. Answers are never cut: their end is what they are judged by. */
async function fitBefore(
  answerLength: number,
  { turns, prompt }: EncodedAnswer,
  { tokenizer, maxLength = Number.POSITIVE_INFINITY, overlong = 'drop' }: EncodeOptions,
): Promise<
  { kind: 'fits'; prompt: Int32Array; truncated: boolean } | { kind: 'dropped'; reason: string; message: string }
> {
  const length = prompt.length + answerLength
  if (length <= maxLength) return { kind: 'fits', prompt, truncated: false }
  if (overlong === 'drop') return tooLong(length, maxLength)
  const fitted = await fitPrompt(turns, { tokenizer, limit: maxLength - answerLength, side: 'left' })
  return fitted.kind === 'fits' ? { kind: 'fits', prompt: fitted.ids, truncated: true } : tooLong(length, maxLength)
}

const dropped = (reason: string, message: string) => ({ kind: 'dropped' as const, reason, message })

const tooLong = (length: number, maxLength: number) =>
  dropped('overlong', `${length} tokens, more than maxLength (${maxLength})`)

function joined(first: Int32Array, second: Int32Array): Int32Array {
  const whole = new Int32Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}
