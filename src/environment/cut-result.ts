/** Results of tools as the model reads them: text, and not too long. */
import type { Tokenizer } from '../text/index.js'
import type { ToolResult } from './tool.js'

/** What a tool answered, checked: a text or a result of text. Anything else is a fault of the tool. */
export function checkedResult(tool: string, answer: unknown): ToolResult & { readonly content: string } {
  if (typeof answer === 'string') return { content: answer }
  const { content, isError, stop } = (
    typeof answer === 'object' && answer !== null ? answer : {}
  ) as Partial<ToolResult>
  const text = typeof content === 'string' ? content : textOfParts(content)
  if (text === undefined)
    throw new TypeError(`tool ${tool}: expected a text, or { content } with a text; images are not supported`)
  return { content: text, ...(isError ? { isError } : {}), ...(stop ? { stop } : {}) }
}

function textOfParts(parts: ToolResult['content'] | undefined): string | undefined {
  if (!Array.isArray(parts)) return undefined
  const texts = parts.map(part => (part?.type === 'text' && typeof part.text === 'string' ? part.text : undefined))
  return texts.includes(undefined) ? undefined : texts.join('')
}

/** A text of at most `maxTokens` tokens: the middle of a longer one is left out, at token boundaries, with a note. */
export async function cutText(tokenizer: Tokenizer, text: string, maxTokens: number): Promise<string> {
  const mostCharacters = maxTokens * tokenizer.longestToken
  const [head, tail] = [Math.ceil(maxTokens / 2), Math.floor(maxTokens / 2)]
  if (text.length <= 2 * mostCharacters) {
    const ids = await tokenizer.encode(text, { addSpecialTokens: false })
    if (ids.length <= maxTokens) return text
    const first = await tokenizer.decode(ids.subarray(0, head))
    const last = tail === 0 ? '' : await tokenizer.decode(ids.subarray(ids.length - tail))
    return joined(first, last, `${ids.length - maxTokens} tokens`)
  }
  // Far too long to encode: only its ends are.
  const start = await tokenizer.encode(text.slice(0, mostCharacters), { addSpecialTokens: false })
  const end = await tokenizer.encode(text.slice(-mostCharacters), { addSpecialTokens: false })
  const first = await tokenizer.decode(start.subarray(0, head))
  const last = tail === 0 ? '' : await tokenizer.decode(end.subarray(end.length - tail))
  return joined(first, last, `about ${text.length - first.length - last.length} characters`)
}

/** A cut may part the bytes of a character: what is left of it is no text. */
function joined(first: string, last: string, left: string): string {
  return `${first.replace(/\uFFFD+$/, '')}\n[... ${left} left out ...]\n${last.replace(/^\uFFFD+/, '')}`
}
