/** Rows as sequences: what a trainer computes with, cut or left out where they are too long. */
import { promptSequence, type Sequence, supervisedSequence, trainedCount, withAnswer } from '../sequence/index.js'
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
import { holdsMedia, type MediaOfRow } from './formats/media.js'
import type { PreferenceRow } from './formats/preferences.js'
import { type Answer, type Prompt, withSystem } from './formats/prompt.js'
import { encodeWithMedia, type MediaRow, noTower, type RowProcessor } from './media-rows.js'
import type { DataOptions } from './options.js'
import type { FilePrompt } from './prompts.js'
import type { StoredRow } from './row-store.js'
import {
  type ConversationExample,
  type ExampleKind,
  type Examples,
  type LabelledExample,
  type PreferenceExample,
  type PromptExample,
  sequencesOf,
} from './types.js'

/** What a row of each kind is before it is encoded. */
export interface Rows {
  conversations: ConversationRow & MediaOfRow
  preferences: PreferenceRow & MediaOfRow
  labelled: LabelledRow & MediaOfRow
  prompts: FilePrompt
}

export interface EncodeOptions
  extends Pick<DataOptions, 'maxLength' | 'overlong' | 'systemPrompt' | 'chatTemplate' | 'trainOn'> {
  readonly tokenizer: Tokenizer
  /** What reads images and videos. Null: the model reads text alone. Undefined: not known yet, and placeholders are not expanded. */
  readonly processor?: RowProcessor | null | undefined
  /** Types of parts besides text in messages, once media are placed. */
  readonly mediaTypes?: readonly string[] | undefined
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

const encoders: {
  [K in ExampleKind]: (stored: StoredRow<Rows[K]>, options: EncodeOptions) => Promise<Encoded<Examples[K]>>
} = {
  conversations: encodeConversation,
  preferences: encodePreference,
  labelled: encodeLabelled,
  prompts: encodePromptRow,
}

/** A conversation that the template cannot render is a bad row; only a tokenizer can find it. */
export async function encodeRow<K extends ExampleKind>(
  kind: K,
  stored: StoredRow<Rows[K]>,
  options: EncodeOptions,
): Promise<Encoded<Examples[K]>> {
  try {
    const encode = (row: unknown, given: EncodeOptions) => encoders[kind](row as StoredRow<Rows[K]>, given)
    // The generator encodes prompts.
    return kind === 'prompts'
      ? await encode(stored, options)
      : await encodeWithMedia(stored as MediaRow, options, encode)
  } catch (error) {
    if (error instanceof ChatTemplateError) return dropped('template', error.message)
    throw error
  }
}

async function encodeConversation(
  stored: StoredRow<ConversationRow>,
  options: EncodeOptions,
): Promise<Encoded<ConversationExample>> {
  const whole = await conversationSequence(stored, options)
  const { length } = whole.ids
  const { maxLength = Number.POSITIVE_INFINITY, overlong = 'truncate' } = options
  const truncated = length > maxLength
  if (truncated && overlong === 'drop') return tooLong(length, maxLength)
  const ids = whole.ids.slice(0, maxLength)
  const trained = options.trainOn === 'all' ? new Uint8Array(ids.length).fill(1) : whole.trained.slice(0, maxLength)
  const sequence = supervisedSequence({ ...whole, ids, trained })
  const { where } = stored
  if (!truncated || trainedCount(sequence) > 0) return usable({ sequence, truncated, where }, truncated)
  return dropped('overlong', `${length} tokens, and none of the first ${maxLength} is a trained token`)
}

async function conversationSequence(
  { row, promptId }: StoredRow<ConversationRow>,
  options: EncodeOptions,
): Promise<Sequence> {
  const { tokenizer } = options
  if (row.form === 'messages') {
    const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages, {
      ...(row.tools ? { tools: row.tools } : {}),
      ...mediaOptions(options),
    })
    return supervisedSequence({ ids, trained: assistantMask, promptId, row })
  }
  if (row.form === 'text') {
    const ids = await tokenizer.encodePrompt(row.text)
    return answered(promptSequence({ ids: new Int32Array(0), promptId, row }), withEos(ids, tokenizer))
  }
  const { prompt: ids, answer } = await encodeAnswer(row.prompt, row.answer, options)
  return answered(promptSequence({ ids, promptId, row }), answer)
}

async function encodePreference(
  { row, promptId, where }: StoredRow<PreferenceRow>,
  options: EncodeOptions,
): Promise<Encoded<PreferenceExample>> {
  const [chosen, rejected] = await Promise.all([
    encodeAnswer(row.prompt, row.chosen, options),
    encodeAnswer(row.prompt, row.rejected, options),
  ])
  const longest = Math.max(lengthOf(chosen.answer), lengthOf(rejected.answer))
  const fitted = await fitBefore(longest, chosen, options)
  if (fitted.kind === 'dropped') return fitted
  const prompt = promptSequence({ ids: fitted.prompt, promptId, row })
  const example = {
    chosen: answered(prompt, chosen.answer),
    rejected: answered(prompt, rejected.answer),
    ...(row.margin === undefined ? {} : { margin: row.margin }),
    where,
  }
  return usable(example, fitted.truncated)
}

async function encodeLabelled(
  { row, promptId, where }: StoredRow<LabelledRow>,
  options: EncodeOptions,
): Promise<Encoded<LabelledExample>> {
  const encoded = await encodeAnswer(row.prompt, row.answer, options)
  const fitted = await fitBefore(lengthOf(encoded.answer), encoded, options)
  if (fitted.kind === 'dropped') return fitted
  const sequence = answered(promptSequence({ ids: fitted.prompt, promptId, row }), encoded.answer)
  return usable({ sequence, desirable: row.desirable, where }, fitted.truncated)
}

const answered = (prompt: Sequence, answer: readonly Int32Array[]): Sequence => answer.reduce(withAnswer, prompt)

const lengthOf = (answer: readonly Int32Array[]): number => answer.reduce((sum, { length }) => sum + length, 0)

function usable<E extends Examples[Exclude<ExampleKind, 'prompts'>]>(example: E, truncated: boolean): Encoded<E> {
  return sequencesOf(example).every(sequence => trainedCount(sequence) > 0)
    ? { kind: 'example', example, truncated }
    : dropped('nothing-to-train', 'it has no trained token')
}

/** A prompt stays text or messages: the generator encodes and cuts it. */
async function encodePromptRow(
  { row, promptId, where }: StoredRow<FilePrompt>,
  options: EncodeOptions,
): Promise<Encoded<PromptExample>> {
  const { tokenizer, processor, maxLength, overlong = 'drop' } = options
  const prompt = asTurns(row.prompt, options)
  const { images, videos } = row
  if (processor === null && holdsMedia({ ...(images && { images }), ...(videos && { videos }) }, row.prompt))
    return dropped('media', noTower)
  // How long media are is known when they are read.
  if (maxLength !== undefined && overlong === 'drop' && row.mediaRoot === undefined) {
    const { length } = await encodeTurns(prompt, tokenizer)
    if (length > maxLength) return tooLong(length, maxLength)
  }
  return { kind: 'example', example: { ...row, prompt, promptId, where }, truncated: false }
}

/** A text prompt becomes a user message if there is a template, after the system prompt of the config. */
function asTurns(prompt: Prompt, options: EncodeOptions): Prompt {
  const turns = promptTurns(prompt, options.tokenizer, options.chatTemplate)
  return typeof prompt !== 'string' || typeof turns === 'string' ? turns : withSystem(turns, options)
}

interface EncodedAnswer {
  /** What the prompt's ids were made of. */
  readonly turns: Prompt
  readonly prompt: Int32Array
  /** In parts: the text, and its end. */
  readonly answer: readonly Int32Array[]
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
  const encoded = await tokenizer.encodeAnswer(messages, said, mediaOptions(options))
  const { prompt: before, answer: turn, tail } = encoded
  return { turns: messages, prompt: before, answer: answerEnd === 'template' ? [turn, tail] : [turn] }
}

const mediaOptions = ({ mediaTypes }: EncodeOptions) => (mediaTypes ? { mediaTypes } : {})

/** The model must learn to stop. */
function withEos(ids: Int32Array, { eosId }: Tokenizer): Int32Array[] {
  return eosId === undefined || ids.at(-1) === eosId ? [ids] : [ids, Int32Array.of(eosId)]
}

/** Cuts a prompt to leave room for its answer. Answers are never cut: their end often decides their quality. */
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
