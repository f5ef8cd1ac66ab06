/** Prompts as the ids that a model is asked with: encoded once, and cut where they are too long without losing what frames them. */
import type { ChatMessage } from './chat-messages.js'
import type { ChatOptions } from './chat-template.js'
import { ChatTemplateError } from './errors.js'
import type { Tokenizer } from './tokenizer.js'

/** A text, or a conversation for the assistant to answer. */
export type TextPrompt = string | readonly ChatMessage[]

/**
 * A text prompt as a model is meant to read it: a user's turn where there is a chat template, unless `chatTemplate` is `none`.
 *
 * @example
 * const ids = await encodeTurns(promptTurns('What is 2 + 2?', tokenizer), tokenizer)
 */
export function promptTurns(prompt: TextPrompt, tokenizer: Tokenizer, chatTemplate?: string): TextPrompt {
  if (typeof prompt !== 'string' || chatTemplate === 'none' || !tokenizer.hasChatTemplate) return prompt
  return [{ role: 'user', content: prompt }]
}

/** The ids of a prompt: a conversation ends with the header of the assistant's turn, a text is taken as it is. */
export function encodeTurns(
  turns: TextPrompt,
  tokenizer: Tokenizer,
  options: Pick<ChatOptions, 'mediaTypes'> = {},
): Promise<Int32Array> {
  return typeof turns === 'string'
    ? tokenizer.encodePrompt(turns)
    : tokenizer.encodeChat(turns, { ...options, addGenerationPrompt: true })
}

interface FitOptions {
  readonly tokenizer: Tokenizer
  /** Tokens it may have. */
  readonly limit: number
  /** Which end of a text is cut off; `reject`: none. */
  readonly side: 'left' | 'right' | 'reject'
}

/** The ids, and how many tokens of the whole prompt are not among them; `too-long` has them all, and more than the limit. */
type FittedPrompt =
  | { readonly kind: 'fits'; readonly ids: Int32Array; readonly cut: number }
  | { readonly kind: 'too-long'; readonly ids: Int32Array }

/**
 * A prompt within a limit. A conversation loses its oldest turns first, all but the system message and the last one; then the last
 * user message loses the beginning (`left`) or the end (`right`) of its text. What the template writes stays whole. A text, or a
 * list of ids, keeps its bos. What cannot be cut that far is too long.
 */
export async function fitPrompt(prompt: TextPrompt | Int32Array, options: FitOptions): Promise<FittedPrompt> {
  const { tokenizer, limit, side } = options
  const whole = prompt instanceof Int32Array ? prompt : await encodeTurns(prompt, tokenizer)
  if (whole.length <= limit) return { kind: 'fits', ids: whole, cut: 0 }
  const tooLong: FittedPrompt = { kind: 'too-long', ids: whole }
  if (side === 'reject') return tooLong
  const ids =
    typeof prompt === 'string' || prompt instanceof Int32Array
      ? withoutPart(whole, { from: whole[0] === tokenizer.bosId ? 1 : 0, to: whole.length }, { limit, side })
      : await shortened(prompt, { tokenizer, limit, side }).catch(nothingRendered)
  return ids ? { kind: 'fits', ids, cut: whole.length - ids.length } : tooLong
}

type Cut = FitOptions & { readonly side: 'left' | 'right' }

async function shortened(messages: readonly ChatMessage[], options: Cut): Promise<Int32Array | undefined> {
  const { tokenizer, limit } = options
  const starts = messages.flatMap(({ role }, i) => (role === 'user' ? [i] : []))
  const before = messages.slice(0, starts[0]).filter(({ role }) => role === 'system' || role === 'developer')
  const from = (turn: number): readonly ChatMessage[] => [...before, ...messages.slice(starts[turn] ?? 0)]
  // The first turn from which on all the others fit. More turns are more tokens, so half of what is left is looked at each time.
  let [low, high] = [1, starts.length]
  let best: Int32Array | undefined
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const ids = await encodeTurns(from(middle), tokenizer)
    if (ids.length > limit) low = middle + 1
    else [high, best] = [middle, ids]
  }
  if (best) return best
  const last = starts.length > 1 ? from(starts.length - 1) : messages
  const asked = last.findLastIndex(({ role }) => role === 'user')
  const located = await tokenizer.encodeLocated(last, asked < 0 ? last.length - 1 : asked, {
    addGenerationPrompt: true,
  })
  return located && withoutPart(located.ids, located, options)
}

/** Leaves out as much of a part as is too much, at one of its ends; undefined where nothing of it would be left. */
function withoutPart(
  ids: Int32Array,
  { from, to }: { from: number; to: number },
  { limit, side }: Pick<Cut, 'limit' | 'side'>,
): Int32Array | undefined {
  const excess = ids.length - limit
  if (excess >= to - from) return undefined
  const gap = side === 'left' ? from : to - excess
  const kept = new Int32Array(limit)
  kept.set(ids.subarray(0, gap))
  kept.set(ids.subarray(gap + excess), gap)
  return kept
}

/** A template that will not have a shorter conversation leaves nothing to shorten. */
function nothingRendered(error: unknown): undefined {
  if (!(error instanceof ChatTemplateError)) throw error
  return undefined
}
