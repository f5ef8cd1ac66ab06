/**
 * Conversations whose texts come from outside, such as results of tools: a special token written in a text stays text. Otherwise a tool
 * could end the turn of the user and speak as the assistant.
 */
import type { ChatMessage } from './chat-messages.js'
import type { ChatOptions } from './chat-template.js'
import type { Tokenizer } from './tokenizer.js'

/** A rendered conversation in which marks stand for the special tokens that texts of messages contain. */
export interface PlainRendering {
  readonly text: string
  /** What each mark stands for. */
  readonly tokens: readonly string[]
}

export function renderPlain(
  tokenizer: Tokenizer,
  messages: readonly ChatMessage[],
  options: ChatOptions,
): PlainRendering {
  const special = specialPattern(tokenizer)
  const tokens: string[] = []
  const mark = (text: string): string =>
    special ? text.replace(special, token => `\uFDD2${tokens.push(token) - 1}\uFDD3`) : text
  return {
    text: tokenizer.renderChat(
      messages.map(message => withTexts(message, mark)),
      options,
    ),
    tokens,
  }
}

/** Without marks, the ids of the text. A marked token is encoded in two parts, so that it is not found. */
export async function encodeRendering(tokenizer: Tokenizer, { text, tokens }: PlainRendering): Promise<Int32Array> {
  const texts: string[] = ['']
  for (const [i, part] of text.split(/\uFDD2(\d+)\uFDD3/).entries()) {
    if (i % 2 === 0) texts[texts.length - 1] += part
    else {
      const [first = '', ...rest] = [...tokens[Number(part)]!]
      texts[texts.length - 1] += first
      texts.push(rest.join(''))
    }
  }
  const encoded = await tokenizer.encodeBatch(texts, { addSpecialTokens: false })
  return encoded.length === 1 ? encoded[0]! : Int32Array.from(encoded.flatMap(ids => [...ids]))
}

const patterns = new WeakMap<Tokenizer, RegExp | null>()

function specialPattern(tokenizer: Tokenizer): RegExp | undefined {
  const known = patterns.get(tokenizer)
  if (known !== undefined) return known ?? undefined
  // A token of one character cannot be encoded in two parts.
  const texts = [...tokenizer.specialIds].flatMap(id => tokenizer.tokenOf(id) ?? []).filter(text => text.length > 1)
  // The longest first, because one may begin with another.
  const escaped = texts.sort((a, b) => b.length - a.length).map(text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = escaped.length === 0 ? null : new RegExp(escaped.join('|'), 'g')
  patterns.set(tokenizer, pattern)
  return pattern ?? undefined
}

function withTexts(message: ChatMessage, change: (text: string) => string): ChatMessage {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: change(content) }
  if (!content) return message
  return {
    ...message,
    content: content.map(part => (typeof part.text === 'string' ? { ...part, text: change(part.text) } : part)),
  }
}
