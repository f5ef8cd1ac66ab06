/** Prompts as they come to prompts as a model reads them: encoded once, cut or refused where they are too long. */
import type { RewardMedia, RewardRow } from '../reward/index.js'
import { type ChatMessage, fitPrompt, promptTurns, type Tokenizer } from '../text/index.js'
import type { ExperienceConfig } from './config.js'

/** A text (a user's turn where there is a chat template), a conversation for the assistant to answer, or token ids. */
export type Prompt = string | readonly ChatMessage[] | Int32Array

/** What belongs to prompts, each list as long as they are many. */
export interface PromptColumns<Row = RewardRow> {
  /** Names in the stream of random numbers. Default: the call's number and the prompt's. */
  readonly ids?: readonly string[]
  readonly references?: readonly (string | readonly string[] | undefined)[]
  readonly labels?: readonly (string | undefined)[]
  readonly rows?: readonly Row[]
  readonly images?: readonly (readonly RewardMedia[] | undefined)[]
  readonly videos?: readonly (readonly RewardMedia[] | undefined)[]
}

/** One prompt with all that belongs to it: what `morePrompts` gives. */
export interface PromptRow<Row = RewardRow> {
  readonly prompt: Prompt
  readonly promptId?: string
  readonly reference?: string | readonly string[] | undefined
  readonly label?: string | undefined
  readonly row?: Row
  readonly images?: readonly RewardMedia[] | undefined
  readonly videos?: readonly RewardMedia[] | undefined
}

export interface EncodedPrompt {
  readonly promptId: string
  readonly ids: Int32Array
  readonly messages: readonly ChatMessage[] | undefined
  readonly label: string | undefined
  readonly reference: string | readonly string[] | undefined
  readonly row: RewardRow
  /** Tokens that it would have more, had it not been cut. */
  readonly cutTokens: number
  /** Longer than it may be, and not to be cut, or not that far. */
  readonly tooLong: boolean
}

/** Lists side by side as rows; lists of another length than the prompts are an error that names them. */
export function promptRows<Row>(prompts: readonly Prompt[], columns: PromptColumns<Row>): PromptRow<Row>[] {
  const { ids, references, labels, rows, images, videos } = columns
  for (const [name, list] of Object.entries({ ids, references, labels, rows, images, videos })) {
    if (list && list.length !== prompts.length)
      throw new RangeError(`${name} has ${list.length} entries for ${prompts.length} prompts; give one for each`)
  }
  return prompts.map((prompt, i) => ({
    prompt,
    ...(ids ? { promptId: ids[i]! } : {}),
    ...(rows ? { row: rows[i]! } : {}),
    reference: references?.[i],
    label: labels?.[i],
    images: images?.[i],
    videos: videos?.[i],
  }))
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

interface EncodeOptions extends Pick<ExperienceConfig, 'promptTruncation' | 'chatTemplate'> {
  tokenizer: Tokenizer
  /** Tokens a prompt may have. */
  limit: number
  promptId: string
}

export async function encodePrompt(row: PromptRow, options: EncodeOptions): Promise<EncodedPrompt> {
  const { prompt, label, reference } = row
  if ((row.images?.length ?? 0) > 0 || (row.videos?.length ?? 0) > 0)
    throw new RangeError(
      'images and videos need a vision-language model and its processor, and the models here read text alone',
    )
  const { tokenizer, limit, promptTruncation: side, chatTemplate } = options
  const turns = prompt instanceof Int32Array ? prompt : promptTurns(prompt, tokenizer, chatTemplate)
  const fitted = await fitPrompt(turns, { tokenizer, limit, side })
  return {
    promptId: row.promptId ?? options.promptId,
    ids: fitted.ids,
    messages: typeof turns === 'string' || turns instanceof Int32Array ? undefined : turns,
    label,
    reference,
    row: (row.row as RewardRow | undefined) ?? {},
    cutTokens: fitted.kind === 'fits' ? fitted.cut : 0,
    tooLong: fitted.kind === 'too-long',
  }
}
