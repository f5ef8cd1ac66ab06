import type { ChatMessage } from './chat-messages.js'
import type { TextSpan } from './chat-template.js'
import { ChatTemplateError } from './errors.js'

/**
 * What the assistant wrote in a conversation whose template has no `{% generation %}` blocks, found by comparing
 * renderings: the text after "everything before this message, with the generation prompt" up to the end of "everything
 * up to this message". That is only meaningful when each rendering begins the next, which is verified.
 *
 * A span holds the content and the end-of-turn token, as templates with `{% generation %}` mark it: the model has to
 * learn to stop. Whitespace after the end-of-turn token belongs to the template and is left out; where a template ends a
 * turn with no special token, whatever it writes there is how the turn ends and stays in.
 */
export function spansByPrefix(
  messages: readonly ChatMessage[],
  render: (messages: readonly ChatMessage[], options: { addGenerationPrompt: boolean }) => string,
  specialTokens: readonly string[],
): { text: string; spans: TextSpan[] } {
  const text = render(messages, { addGenerationPrompt: false })
  const spans: TextSpan[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    let before: string
    let after: string
    try {
      before = render(messages.slice(0, i), { addGenerationPrompt: true })
      after = render(messages.slice(0, i + 1), { addGenerationPrompt: false })
    } catch (cause) {
      throw notAPrefix(i, `it cannot render the messages before or up to this one (${(cause as Error).message})`, cause)
    }
    if (!after.startsWith(before)) {
      throw notAPrefix(i, 'the generation prompt is not how it begins this message')
    }
    if (!text.startsWith(after)) {
      throw notAPrefix(i, 'it renders this message differently once others follow')
    }
    const start = before.length
    spans.push({ start, end: start + endOfTurn(after.slice(start), specialTokens) })
  }
  return { text, spans }
}

function notAPrefix(messageIndex: number, why: string, cause?: unknown): ChatTemplateError {
  return new ChatTemplateError(
    `messages[${messageIndex}]: cannot find the tokens of the assistant: the chat template has no generation tags, ` +
      `and ${why}. Put {% generation %} ... {% endgeneration %} around the text of the assistant in the template.`,
    { messageIndex, cause },
  )
}

/** Where the assistant's turn ends in `turn`: after the last special token, unless text follows it. */
export function endOfTurn(turn: string, specialTokens: readonly string[]): number {
  let end = 0
  for (const token of specialTokens) {
    const at = turn.lastIndexOf(token)
    if (at >= 0) end = Math.max(end, at + token.length)
  }
  return end > 0 && turn.slice(end).trim() === '' ? end : turn.length
}

/**
 * One per token that starts inside a span. `offsets` are the tokenizer's, in code points of `text`; spans are in UTF-16
 * units, so spans are converted.
 *
 * A token that begins before a span and reaches into it is not the assistant's: after the prompt's own tokens no model
 * could have produced it. A character of several tokens (an emoji in byte-level BPE) gives them all the same offsets, so
 * they are all in or all out.
 */
export function maskFromSpans(
  text: string,
  offsets: readonly (readonly number[])[],
  spans: readonly TextSpan[],
): Uint8Array {
  const ranges = toCodePoints(text, spans)
  const mask = new Uint8Array(offsets.length)
  let range = 0
  let previousEnd = 0
  for (const [token, [from = 0, to = 0]] of offsets.entries()) {
    // Post-processors that trim offsets leave a token of whitespace empty, at the *end* of the text it covers.
    const start = from === to ? Math.min(from, previousEnd) : from
    previousEnd = Math.max(previousEnd, to)
    while (range < ranges.length && start >= ranges[range]!.end) range++
    if (range < ranges.length && start >= ranges[range]!.start) mask[token] = 1
  }
  return mask
}

/** Spans are in order and do not overlap, so one pass over the text counts them all. */
function toCodePoints(text: string, spans: readonly TextSpan[]): TextSpan[] {
  let unit = 0
  let codePoint = 0
  const advanceTo = (target: number): number => {
    while (unit < target) {
      unit += text.codePointAt(unit)! > 0xffff ? 2 : 1
      codePoint++
    }
    return codePoint
  }
  return spans.map(({ start, end }) => ({ start: advanceTo(start), end: advanceTo(end) }))
}
