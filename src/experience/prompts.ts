/** Encodes prompts once, and cuts or refuses those that are too long. */
import type { DataRow, Prompt, PromptRow } from '../data/index.js'
import { MediaError, readAudio } from '../media/index.js'
import type { MultimodalProcessor } from '../model/index.js'
import type { GivenMedia } from '../reward/index.js'
import { type AudioClip, type MediaItem, promptSequence, type Sequence } from '../sequence/index.js'
import {
  type ChatMessage,
  encodeTurns,
  fitPrompt,
  placedTypes,
  placeMedia,
  promptTurns,
  type Tokenizer,
} from '../text/index.js'
import type { ExperienceConfig } from './config.js'

export interface EncodedPrompt {
  /** Without an answer yet. */
  readonly sequence: Sequence<DataRow>
  readonly messages: readonly ChatMessage[] | undefined
  readonly label: string | undefined
  readonly target: string | readonly string[] | undefined
  /** Tokens that were cut. */
  readonly cutTokens: number
  /** Too long, and cutting is not allowed or not possible. */
  readonly tooLong: boolean
  /** Why its images or videos cannot be used. */
  readonly mediaProblem?: string
  /** Its images and videos as the row gave them, for rewards. */
  readonly given?: GivenMedia
  /** For servers and rewards. */
  readonly audios?: readonly AudioClip[]
}

export function promptRow<Row>(given: Prompt | PromptRow<Row>): PromptRow<Row> {
  return typeof given === 'object' && 'prompt' in given ? given : { prompt: given }
}

/** Tokens a prompt may have: as many as are asked for, or what the longest response leaves of a sequence. Below 1: there is no room. */
export function promptLimit(
  { promptMaxLen, maxNewTokens }: Pick<ExperienceConfig, 'promptMaxLen' | 'maxNewTokens'>,
  sequenceLength: number,
): number {
  return promptMaxLen === undefined ? sequenceLength - maxNewTokens : Math.min(promptMaxLen, sequenceLength - 1)
}

/** Prompts that were cut, and those that could not be. */
export interface PromptCounts {
  readonly cut: number
  readonly leftOut: number
}

export function countPrompts(prompts: readonly Pick<EncodedPrompt, 'cutTokens' | 'tooLong'>[]): PromptCounts {
  return {
    cut: prompts.filter(({ cutTokens }) => cutTokens > 0).length,
    leftOut: prompts.filter(({ tooLong }) => tooLong).length,
  }
}

/** A row whose environment writes the prompt: it has no ids yet. */
export function taskPrompt(
  row: PromptRow,
  { promptId, tokenizer }: { readonly promptId: string; readonly tokenizer: Tokenizer },
): EncodedPrompt {
  const { prompt, label, target } = row
  const turns = prompt instanceof Int32Array ? [] : promptTurns(prompt, tokenizer)
  const messages = typeof turns === 'string' ? [{ role: 'user', content: turns }] : turns
  const sequence = promptSequence({ ids: new Int32Array(0), promptId: row.promptId ?? promptId, row: row.row ?? {} })
  return { sequence, messages, label, target, cutTokens: 0, tooLong: false }
}

interface EncodeOptions extends Pick<ExperienceConfig, 'promptTruncation' | 'chatTemplate'> {
  tokenizer: Tokenizer
  /** For prompts with images or videos. */
  processor?: Pick<MultimodalProcessor, 'process'> | undefined
  /** Tokens a prompt may have. */
  limit: number
  promptId: string
}

export async function encodePrompt(row: PromptRow, options: EncodeOptions): Promise<EncodedPrompt> {
  const { label, target } = row
  const { tokenizer, limit, promptTruncation: side, chatTemplate } = options
  const placed = row.prompt instanceof Int32Array ? idsWithMedia(row) : placeMedia(row.prompt, row)
  const turns =
    placed.prompt instanceof Int32Array ? placed.prompt : promptTurns(placed.prompt, tokenizer, chatTemplate)
  const messages = typeof turns === 'string' || turns instanceof Int32Array ? undefined : turns
  const promptId = row.promptId ?? options.promptId
  const sounds = await soundsOf(row)
  const heard = sounds.kind === 'read' && sounds.audios.length > 0 ? { audios: sounds.audios } : {}
  const known = { messages, label, target, cutTokens: 0, tooLong: false, ...heard }
  const sequenceOf = (ids: Int32Array, media: readonly MediaItem[] = []): Sequence<DataRow> =>
    promptSequence({ ids, promptId, row: row.row ?? {}, media })
  if (sounds.kind === 'failed')
    return { ...known, sequence: sequenceOf(new Int32Array(0)), mediaProblem: sounds.message }
  if (placed.images.length + placed.videos.length === 0) {
    const fitted = await fitPrompt(turns, { tokenizer, limit, side })
    const cutTokens = fitted.kind === 'fits' ? fitted.cut : 0
    return { ...known, sequence: sequenceOf(fitted.ids), cutTokens, tooLong: fitted.kind === 'too-long' }
  }
  const { processor } = options
  if (!processor) throw new RangeError('images and videos need a vision-language model and its processor')
  const ids = turns instanceof Int32Array ? turns : await encodeTurns(turns, tokenizer, { mediaTypes: placedTypes })
  const place = row.mediaRoot === undefined ? {} : { baseDirectory: row.mediaRoot, root: row.mediaRoot }
  const processed = await processor.process(ids, placed, place)
  if (processed.kind === 'failed') return { ...known, sequence: sequenceOf(ids), mediaProblem: processed.message }
  // A prompt with media is not cut: a cut would part placeholders from their pixels.
  const given = { images: placed.images, videos: placed.videos, baseDirectory: row.mediaRoot }
  const sequence = sequenceOf(processed.ids, processed.media)
  return { ...known, sequence, tooLong: processed.ids.length > limit, given }
}

async function soundsOf({ audios = [], mediaRoot }: PromptRow) {
  const place = { baseDirectory: mediaRoot, root: mediaRoot }
  try {
    return { kind: 'read' as const, audios: await Promise.all(audios.map(audio => readAudio(audio, place))) }
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    return { kind: 'failed' as const, message: error.message }
  }
}

const idsWithMedia = ({ prompt, images = [], videos = [] }: PromptRow) => ({
  prompt: prompt as Int32Array,
  images,
  videos,
})
