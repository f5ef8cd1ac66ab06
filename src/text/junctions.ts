/**
 * What a chat template writes between two turns of the assistant, as token ids. A conversation grows by appending: the ids of a turn stay
 * as they were sampled. The ids after them come from a short conversation that ends in the same way; whole renderings are compared with
 * that once, before the first token.
 */
import type { ChatMessage } from './chat-messages.js'
import type { ChatOptions } from './chat-template.js'
import { ChatTemplateError } from './errors.js'
import { encodeRendering, type PlainRendering, renderPlain } from './plain-content.js'
import type { Tokenizer } from './tokenizer.js'

interface JunctionOptions extends Pick<ChatOptions, 'tools' | 'variables'> {
  readonly tokenizer: Tokenizer
  /** The clock of the template. It stays the same for the whole conversation. */
  readonly now: Date
}

/** A call of the turn that is answered. */
interface AnsweredCall {
  readonly id: string
  readonly name: string
}

/** What is added after turns, and how a template that rewrites earlier turns is taken. */
export interface JunctionCheck {
  readonly adds: readonly ('tool' | 'user')[]
  /** `exact`: rewritten turns are an error. `append`: they are not looked for. */
  readonly history: 'exact' | 'append'
  /** A tool whose call is tried. */
  readonly toolName?: string | undefined
}

export class Junctions {
  /** Tokens that end a turn of the assistant. */
  readonly turnEndIds = new Set<number>()
  readonly #options: JunctionOptions
  /** By kind of turn. */
  readonly #ends = new Map<'calls' | 'text', number>()

  private constructor(options: JunctionOptions) {
    this.#options = options
  }

  /** Finds how turns end, and compares what is appended with whole renderings. An error names what the template rewrites. */
  static async open(options: JunctionOptions, check: JunctionCheck): Promise<Junctions> {
    const junctions = new Junctions(options)
    if (options.tools?.length) junctions.#checkTools(options.tools)
    await junctions.#end('text')
    if (check.adds.includes('tool')) await junctions.#end('calls')
    if (check.history === 'exact') await junctions.#verify(check)
    return junctions
  }

  /** The ids before the first turn, or of a whole conversation with the header of the next turn. */
  start(messages: readonly ChatMessage[]): Promise<Int32Array> {
    return this.#encode(this.#render(messages, { addGenerationPrompt: true }))
  }

  /**
   * The ids after a turn, with the header of the next one. A turn that was cut has no last token: it is added here, because the policy
   * did not sample it.
   */
  async next(
    messages: readonly ChatMessage[],
    { lastId, calls }: { readonly lastId: number | undefined; readonly calls: readonly AnsweredCall[] },
  ): Promise<Int32Array> {
    const answered = messages.some(({ role }) => role === 'tool') ? calls : []
    const end = await this.#end(answered.length > 0 ? 'calls' : 'text')
    const rendered = this.#renderAfter(answered, messages)
    const marked = rendered.text.indexOf(mark)
    const endText = this.#options.tokenizer.tokenOf(end)!
    const at = marked < 0 ? -1 : rendered.text.indexOf(endText, marked)
    if (at < 0) throw new ChatTemplateError(`the chat template leaves out the turn before ${rolesOf(messages)}`)
    const whole = await this.#encode(rendered)
    const before = await this.#encode({ ...rendered, text: rendered.text.slice(0, at + endText.length) })
    if (!startsWith(whole, before))
      throw new ChatTemplateError(`the ids of a turn change once ${rolesOf(messages)} follows`)
    const added = whole.subarray(before.length)
    return lastId === end ? added.slice() : Int32Array.of(end, ...added)
  }

  /** Messages after a short conversation. Some templates write one call at most; what follows the turn is the same. */
  #renderAfter(calls: readonly AnsweredCall[], messages: readonly ChatMessage[]): PlainRendering {
    const turn = (some: readonly AnsweredCall[]): ChatMessage =>
      some.length === 0 ? said(mark) : callingTurn(some.map(call => ({ ...call, arguments: { text: mark } })))
    const render = (some: readonly AnsweredCall[]): PlainRendering =>
      this.#render([asked, turn(some), ...messages], { addGenerationPrompt: true })
    if (calls.length < 2) return render(calls)
    try {
      return render(calls)
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) throw error
      return render(calls.slice(0, 1))
    }
  }

  #render(messages: readonly ChatMessage[], options: ChatOptions = {}): PlainRendering {
    const { tokenizer, tools, variables, now } = this.#options
    return renderPlain(tokenizer, messages, {
      ...options,
      ...(tools?.length ? { tools } : {}),
      ...(variables ? { variables } : {}),
      now: () => now,
    })
  }

  #encode(rendering: PlainRendering): Promise<Int32Array> {
    return encodeRendering(this.#options.tokenizer, rendering)
  }

  /** The token that ends a turn: the last special token, with nothing but space after it. */
  async #end(kind: 'calls' | 'text'): Promise<number> {
    const known = this.#ends.get(kind)
    if (known !== undefined) return known
    const { tokenizer } = this.#options
    const turn = kind === 'text' ? said(mark) : callingTurn([tried()])
    const ids = await this.#encode(this.#render([asked, turn]))
    let at = ids.length - 1
    while (at >= 0 && !tokenizer.specialIds.has(ids[at]!)) at--
    const tail = await tokenizer.decode(ids.subarray(at + 1))
    if (at < 0 || tail.trim() !== '')
      throw new ChatTemplateError(
        `${tokenizer.dir}: the chat template ends a turn of the assistant without a special token, and several turns need one; set chatTemplate to chatml or to a Jinja file`,
      )
    this.#ends.set(kind, ids[at]!)
    this.turnEndIds.add(ids[at]!)
    return ids[at]!
  }

  #checkTools(tools: readonly object[]): void {
    const { tokenizer, now } = this.#options
    const render = (given: ChatOptions): string => tokenizer.renderChat([asked], { ...given, now: () => now })
    if (render({ tools }) === render({}))
      throw new ChatTemplateError(
        `${tokenizer.dir}: the chat template does not show tools to the model; set chatTemplate to chatml, which does, or to a Jinja file`,
      )
  }

  async #verify({ adds, toolName }: JunctionCheck): Promise<void> {
    const call = tried(toolName)
    const result = [resultOf(call, 'Seven.')]
    const more = [{ role: 'user', content: 'And now?' }]
    const thought = `<think>\n${mark}\n</think>\n\nYes.`
    if (adds.includes('tool')) {
      // A template for models that reason may write a turn without reasoning differently: such a model does not write one.
      const plain = await this.#keeps(callingTurn([call]), result, [call])
      if (!plain && !(await this.#keeps(callingTurn([call], thought), result, [call]))) throw this.#rewrites(result)
    }
    if (!adds.includes('user')) return
    if (!(await this.#keeps(said('Yes.'), more, []))) throw this.#rewrites(more)
    if (!(await this.#keeps(said(thought), more, [])))
      throw this.#rewrites(more, 'removes reasoning from earlier turns')
  }

  /** Whether the whole rendering is what appending gives, for one turn and what is added after it. */
  async #keeps(turn: ChatMessage, added: readonly ChatMessage[], calls: readonly AnsweredCall[]): Promise<boolean> {
    const spoken = this.#render([asked, turn])
    if (String(turn.content).includes(mark) && !spoken.text.includes(mark)) return false
    const ids = await this.#encode(spoken)
    const start = await this.start([asked])
    const end = await this.#end(calls.length > 0 ? 'calls' : 'text')
    const upTo = ids.subarray(0, ids.lastIndexOf(end) + 1)
    const whole = await this.start([asked, turn, ...added])
    const next = await this.next(added, { lastId: end, calls })
    return startsWith(ids, start) && startsWith(whole, upTo) && equal(whole.subarray(upTo.length), next)
  }

  #rewrites(added: readonly ChatMessage[], what = 'writes earlier turns differently'): ChatTemplateError {
    return new ChatTemplateError(
      `${this.#options.tokenizer.dir}: the chat template ${what} once ${rolesOf(added)} follows, so that turns cannot be appended as they were sampled. Set episode.history to append (turns stay as they were sampled) or template (the rewritten conversation starts a new segment), or chatTemplate to another template`,
    )
  }
}

/** Stands in the turn before a junction, to find its end. */
const mark = 'Whetstone junction'
const asked: ChatMessage = { role: 'user', content: 'Is it?' }
const said = (content: string): ChatMessage => ({ role: 'assistant', content })
const tried = (name = 'tool'): AnsweredCall => ({ id: 'call00000', name })

/** A turn with calls, as templates take it. */
export function callingTurn(
  calls: readonly (AnsweredCall & { readonly arguments?: unknown })[],
  content = '',
): ChatMessage {
  const functions = calls.map(({ id, name, arguments: given = {} }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }))
  return { role: 'assistant', content, tool_calls: functions }
}

/** The result of a call, as templates take it. */
export function resultOf({ id, name }: AnsweredCall, content: string): ChatMessage {
  return { role: 'tool', tool_call_id: id, name, content }
}

function rolesOf(messages: readonly ChatMessage[]): string {
  const roles = new Set(messages.map(({ role }) => role))
  return roles.has('tool') ? 'the result of a tool' : `a message of the ${[...roles].join(' and ')}`
}

export function startsWith(ids: Int32Array, beginning: Int32Array): boolean {
  return beginning.length <= ids.length && beginning.every((id, i) => id === ids[i])
}

const equal = (a: Int32Array, b: Int32Array): boolean => a.length === b.length && startsWith(a, b)
