import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja'
import { type ChatMessage, checkMessages, renderOpenEnded, rolesIn } from './chat-messages.js'
import { ChatTemplateError } from './errors.js'
import { normalizeParts, takesParts } from './message-parts.js'
import { strftime } from './strftime.js'

export interface ChatOptions {
  /** End with the header of an assistant turn, for the model to fill in. Off unless asked for. */
  readonly addGenerationPrompt?: boolean
  /** Leave the last message open, for the model to go on with. Not together with `addGenerationPrompt`. */
  readonly continueFinalMessage?: boolean
  /** JSON schemas of tools the model may call. */
  readonly tools?: readonly object[]
  /** Documents for retrieval-augmented templates. */
  readonly documents?: readonly object[]
  /** Types of message parts besides text that the model takes, such as `image`. Default none: others are errors. */
  readonly mediaTypes?: readonly string[]
  /** Further template variables, such as `{ enable_thinking: false }`; they hide special tokens of the same name. */
  readonly variables?: Readonly<Record<string, unknown>>
  /** The clock behind `strftime_now`. */
  readonly now?: () => Date
}

/** A half-open range of UTF-16 units in a rendered conversation. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

const START = '__generation_start'
const END = '__generation_end'
/** How many messages may be rendered to find the one that fails: enough for all beginnings of a conversation of 90. */
const blameBudget = 4096
const GENERATION_TAG = /\{%(-?)\s*(end)?generation\s*(-?)%\}/g

/**
 * A compiled chat template, rendered as transformers renders it: `trim_blocks`, `lstrip_blocks`, `raise_exception`,
 * `strftime_now`, special tokens as variables, `tools` and `documents` none unless given.
 *
 * `{% generation %}` blocks, which the engine knows only to drop, become two expressions that print a mark where the
 * block starts and ends. Wrapped in a block of their own, so that whitespace control around the tag is what it was.
 *
 * @example
 * const template = new ChatTemplate(source, new Map([['eos_token', '<|im_end|>']]))
 * const prompt = template.render([{ role: 'user', content: 'Hi' }], { addGenerationPrompt: true })
 */
export class ChatTemplate {
  /** Whether the template says itself which text the assistant wrote. */
  readonly marksGeneration: boolean
  readonly #program: ReturnType<typeof parse>
  readonly #specialTokens: ReadonlyMap<string, string>
  #takesParts: boolean | undefined
  readonly #roles: ReadonlySet<string>

  /** `name`: what an error calls it where it does not parse, such as the path of its file. */
  constructor(
    source: string,
    specialTokens: ReadonlyMap<string, string> = new Map(),
    { name = 'chat template' }: { name?: string } = {},
  ) {
    this.#specialTokens = specialTokens
    this.#roles = rolesIn(source)
    const opens = [...source.matchAll(GENERATION_TAG)].filter(tag => tag[2] === undefined).length
    const closes = [...source.matchAll(GENERATION_TAG)].length - opens
    if (opens !== closes) {
      throw new ChatTemplateError(`${name}: ${opens} {% generation %} tag(s) but ${closes} {% endgeneration %} tag(s)`)
    }
    this.marksGeneration = opens > 0
    const marked = source.replace(
      GENERATION_TAG,
      (_, left: string, end: string | undefined, right: string) =>
        `{%${left} if true %}{{ ${end ? END : START} }}{% endif ${right}%}`,
    )
    try {
      this.#program = parse(tokenize(marked, { trim_blocks: true, lstrip_blocks: true }))
    } catch (cause) {
      throw new ChatTemplateError(`${name}: the chat template does not parse: ${(cause as Error).message}`, { cause })
    }
  }

  /** The text of a conversation. */
  render(given: readonly ChatMessage[], options: ChatOptions = {}): string {
    const messages = this.#prepare(given, options)
    if (!options.continueFinalMessage) return this.#renderOrBlame(messages, options, ['', ''])
    if (options.addGenerationPrompt) {
      throw new ChatTemplateError('addGenerationPrompt and continueFinalMessage exclude each other')
    }
    return renderOpenEnded(messages, tagged => this.#renderOrBlame(tagged, options, ['', '']))
  }

  /** The text of a conversation and what `{% generation %}` blocks wrote of it. */
  renderMarked(given: readonly ChatMessage[], options: ChatOptions = {}): { text: string; spans: TextSpan[] } {
    const messages = this.#prepare(given, options)
    const marks = unusedMarks(JSON.stringify([messages, options.tools, options.documents, options.variables]))
    return takeMarks(this.#renderOrBlame(messages, options, marks), marks)
  }

  /**
   * The text of a conversation, and where the text of one message stands in it: undefined where the template does not write it as it
   * is.
   */
  renderLocated(
    given: readonly ChatMessage[],
    index: number,
    options: ChatOptions = {},
  ): { text: string; span: TextSpan | undefined } {
    const messages = this.#prepare(given, options)
    const text = this.#renderOrBlame(messages, options, ['', ''])
    const marks = unusedMarks(JSON.stringify([messages, options.tools, options.documents, options.variables]))
    const content = enclosed(messages[index]?.content, marks)
    if (content === undefined) return { text, span: undefined }
    const marked = messages.map((message, i) => (i === index ? { ...message, content } : message))
    try {
      const found = takeMarks(this.#run(marked, options, ['', '']), marks)
      return { text, span: found.text === text && found.spans.length === 1 ? found.spans[0] : undefined }
    } catch {
      return { text, span: undefined }
    }
  }

  #prepare(messages: readonly ChatMessage[], { mediaTypes = [] }: ChatOptions): readonly ChatMessage[] {
    checkMessages(messages, this.#roles)
    const templateTakesParts = (): boolean => (this.#takesParts ??= takesParts(probe => this.#run(probe, {}, ['', ''])))
    return normalizeParts(messages, { mediaTypes, templateTakesParts })
  }

  #renderOrBlame(messages: readonly ChatMessage[], options: ChatOptions, marks: Marks): string {
    try {
      return this.#run(messages, options, marks)
    } catch (cause) {
      throw this.#blame(messages, options, cause as Error)
    }
  }

  /**
   * The message at fault is the last of the shortest beginning that fails in the same way. Every beginning is a rendering
   * of its own: in a conversation so long that they would take minutes, none is blamed.
   */
  #blame(messages: readonly ChatMessage[], options: ChatOptions, cause: Error): ChatTemplateError {
    let left = blameBudget
    for (let i = 0; i < messages.length; i++) {
      left -= i + 1
      if (left < 0) return new ChatTemplateError(`the chat template cannot render this: ${cause.message}`, { cause })
      try {
        if (i < messages.length - 1) this.#run(messages.slice(0, i + 1), options, ['', ''])
        else throw cause
      } catch (error) {
        if ((error as Error).message !== cause.message) continue
        const { role, content } = messages[i]!
        // Said to clients of a server, too: where the template lies is not their business.
        const why =
          content === null || content === undefined
            ? `content: ${String(content)}, which the chat template cannot write; give it text`
            : `the chat template cannot render it: ${cause.message}`
        return new ChatTemplateError(`messages[${i}] (role "${role}"): ${why}`, { messageIndex: i, cause })
      }
    }
    throw cause
  }

  #run(messages: readonly ChatMessage[], options: ChatOptions, marks: Marks): string {
    const variables: Record<string, unknown> = {
      true: true,
      false: false,
      none: null,
      True: true,
      False: false,
      None: null,
      range,
      raise_exception: (message: unknown) => {
        throw new Error(String(message))
      },
      strftime_now: (format: string) => strftime(options.now?.() ?? new Date(), format),
      ...Object.fromEntries(this.#specialTokens),
      ...options.variables,
      messages,
      tools: options.tools ?? null,
      documents: options.documents ?? null,
      add_generation_prompt: options.addGenerationPrompt ?? false,
      [START]: marks[0],
      [END]: marks[1],
    }
    const environment = new Environment()
    for (const [name, value] of Object.entries(variables)) environment.set(name, value)
    const result = new Interpreter(environment).run(this.#program)
    return String(result.value)
  }
}

type Marks = readonly [start: string, end: string]

/**
 * Two strings that occur nowhere in what is rendered. They begin and end with Unicode noncharacters, so they cannot
 * overlap each other or be touched by a filter that trims or changes case.
 */
function unusedMarks(rendered: string): Marks {
  for (let n = 0; ; n += 2) {
    const marks: Marks = [`\uFDD0${n}\uFDD1`, `\uFDD0${n + 1}\uFDD1`]
    if (!rendered.includes(marks[0]) && !rendered.includes(marks[1])) return marks
  }
}

/** A message's text between two marks. Space around it stays outside of them: a template that trims a message still does. */
function enclosed(content: ChatMessage['content'], [start, end]: Marks): ChatMessage['content'] | undefined {
  const around = (text: string): string => {
    const core = text.trim()
    const at = text.indexOf(core)
    return `${text.slice(0, at)}${start}${core}${end}${text.slice(at + core.length)}`
  }
  if (typeof content === 'string') return around(content)
  if (!Array.isArray(content)) return undefined
  const last = content.findLastIndex(({ text }) => typeof text === 'string')
  return content.map((part, i) => (i === last ? { ...part, text: around(part.text as string) } : part))
}

function takeMarks(marked: string, [start, end]: Marks): { text: string; spans: TextSpan[] } {
  const spans: TextSpan[] = []
  let text = ''
  let at = 0
  while (true) {
    const open = marked.indexOf(start, at)
    if (open < 0) break
    const close = marked.indexOf(end, open)
    if (close < 0) throw new ChatTemplateError('chat template: a {% generation %} block was opened but never closed')
    text += marked.slice(at, open)
    const body = marked.slice(open + start.length, close)
    if (body.includes(start)) throw new ChatTemplateError('chat template: {% generation %} blocks are nested')
    spans.push({ start: text.length, end: text.length + body.length })
    text += body
    at = close + end.length
  }
  return { text: text + marked.slice(at), spans }
}

function range(start: number, stop?: number, step?: number): number[] {
  const [from, to] = typeof stop === 'number' ? [start, stop] : [0, start]
  const by = typeof step === 'number' ? step : 1
  if (by === 0) throw new Error('range() step must not be zero')
  const length = Math.max(0, Math.ceil((to - from) / by))
  // Conversations are shorter; a list that does not fit into memory would end the process.
  if (!(length <= 1_000_000)) throw new Error(`range() of ${length} numbers is too long`)
  return Array.from({ length }, (_, i) => from + i * by)
}
