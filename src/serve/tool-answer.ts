/** Tool calls of an answer, as clients of OpenAI's API read them. */
import { randomBytes } from 'node:crypto'
import { parseTurn, type Tokenizer, type ToolFormat, toolFormatOf } from '../text/index.js'

export interface ClientCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** What an answer says: its text and its calls. Without calls, the text is all that the model wrote. */
export interface ToolAnswer {
  readonly content: string | null
  readonly calls: readonly ClientCall[]
}

/** The format that the model of a tokenizer writes calls in; undefined where its chat template does not say. */
export function formatOf(tokenizer: Tokenizer, tools: readonly object[] | undefined): ToolFormat | undefined {
  return tools?.length ? toolFormatOf(tokenizer.templateSource({ tools }) ?? '') : undefined
}

/** A turn with a call that has no name, or is no JSON, is text: a client could not answer it. */
export function toolAnswer(text: string, format: ToolFormat): ToolAnswer {
  const { reasoning, text: said, calls } = parseTurn(text, format)
  if (calls.length === 0 || calls.some(({ status }) => status !== 'ok')) return { content: text, calls: [] }
  const content = [reasoning === undefined ? '' : `<think>\n${reasoning}\n</think>`, said].filter(Boolean).join('\n\n')
  return {
    content: content === '' ? null : content,
    calls: calls.map(({ name, argumentsText }) => ({
      id: `call_${randomBytes(12).toString('base64url')}`,
      type: 'function',
      function: { name, arguments: argumentsText },
    })),
  }
}

const marks: Readonly<Record<ToolFormat, RegExp>> = {
  hermes: /<tool_call>/,
  mistral: /\[TOOL_CALLS\]/,
  llama3: /^\s*(?:<\|python_tag\|>|\{)/,
}
const longestMark = 16

/** Text of a streamed answer that is no call for certain. The rest comes at its end, when all calls are known. */
export class CallHolder {
  #text = ''
  #given = 0

  constructor(private readonly format: ToolFormat) {}

  /** What may be shown after these characters. */
  push(text: string): string {
    this.#text += text
    const found = marks[this.format].exec(this.#text)
    // A mark may be half written.
    const safe = found ? found.index : this.#heldFrom()
    const shown = this.#text.slice(this.#given, Math.max(this.#given, safe))
    this.#given += shown.length
    return shown
  }

  /** The rest of the text, and the calls. */
  end(): ToolAnswer {
    const { content, calls } = toolAnswer(this.#text, this.format)
    return calls.length === 0
      ? { content: this.#text.slice(this.#given), calls }
      : { content: this.#rest(content), calls }
  }

  /** What of the content was not shown: text between and after calls. */
  #rest(content: string | null): string | null {
    const shown = this.#text.slice(0, this.#given).trim()
    return content?.startsWith(shown) ? content.slice(shown.length) : null
  }

  #heldFrom(): number {
    const { length } = this.#text
    if (this.format === 'llama3')
      return this.#text.trim() === '' ? 0 : '<|python_tag|>'.startsWith(this.#text.trim()) ? 0 : length
    const mark = this.format === 'hermes' ? '<tool_call>' : '[TOOL_CALLS]'
    for (let size = Math.min(longestMark, length); size > 0; size--)
      if (mark.startsWith(this.#text.slice(length - size))) return length - size
    return length
  }
}

const patterns = new WeakMap<Tokenizer, RegExp>()

/** A text without the special tokens in it. */
export function withoutSpecial(tokenizer: Tokenizer, text: string): string {
  let pattern = patterns.get(tokenizer)
  if (!pattern) {
    const texts = [...tokenizer.specialIds].flatMap(id => tokenizer.tokenOf(id) ?? []).filter(one => one.length > 1)
    const escaped = texts.sort((a, b) => b.length - a.length).map(one => one.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    pattern = new RegExp(escaped.join('|') || '(?!)', 'g')
    patterns.set(tokenizer, pattern)
  }
  return text.replace(pattern, '')
}
