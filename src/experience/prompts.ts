/** Encodes prompts once, and cuts or refuses those that are too long. */
import type { DataRow, Prompt, PromptRow } from '../data/index.js'
import { promptSequence, type Sequence } from '../sequence/index.js'
import { type ChatMessage, fitPrompt, promptTurns, type Tokenizer } from '../text/index.js'
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

interface EncodeOptions extends Pick<ExperienceConfig, 'promptTruncation' | 'chatTemplate'> {
  tokenizer: Tokenizer
  /** Tokens a prompt may have. */
  limit: number
  promptId: string
}

export async function encodePrompt(row: PromptRow, options: EncodeOptions): Promise<EncodedPrompt> {
  const { prompt, label, target } = row
  if ((row.images?.length ?? 0) > 0 || (row.videos?.length ?? 0) > 0)
    throw new RangeError('images and videos need a vision-language model; the models here read text alone')
  const { tokenizer, limit, promptTruncation: side, chatTemplate } = options
  const turns = prompt instanceof Int32Array ? prompt : promptTurns(prompt, tokenizer, chatTemplate)
  const fitted = await fitPrompt(turns, { tokenizer, limit, side })
  return {
    sequence: promptSequence({ ids: fitted.ids, promptId: row.promptId ?? options.promptId, row: row.row ?? {} }),
    messages: typeof turns === 'string' || turns instanceof Int32Array ? undefined : turns,
    label,
    target,
    cutTokens: fitted.kind === 'fits' ? fitted.cut : 0,
    tooLong: fitted.kind === 'too-long',
  }
}
