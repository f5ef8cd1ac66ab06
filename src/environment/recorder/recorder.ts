/**
 * Records the calls of one agent program to the policy, so that they become an episode. History that comes again is matched with the ids
 * that were read and sampled: nothing is tokenized twice. A history that was edited starts a new segment.
 */
import {
  EngineLostError,
  type GenerationRequest,
  type Outcome,
  type Sample,
  type SamplingParams,
} from '../../rollout/index.js'
import {
  type ChatMessage,
  ChatTemplateError,
  type ParsedCall,
  parseTurn,
  startsWith,
  type Tokenizer,
  templateMessages,
  turnText,
} from '../../text/index.js'
import type { EpisodeKey, ToolCall } from '../environment.js'
import type { Completion, Limit } from '../episode.js'
import { EnvironmentError } from '../errors.js'
import { messageOf } from '../fault.js'
import type { EpisodeLimits } from '../limits.js'
import { callId } from '../tool-calls.js'
import { answeredCall, messageOfTurn } from '../turn-message.js'
import { type CallNode, episodeLine, type RecordedLine } from './call-graph.js'
import { extendedKey, hashOf, prefixKeys } from './message-key.js'
import type { AskedTools, ToolSet, ToolSets } from './tool-sets.js'

/** What a recorder asks, and what limits it. */
export interface RecorderWorld {
  readonly tokenizer: Tokenizer
  readonly toolSets: ToolSets
  readonly limits: Pick<EpisodeLimits, 'turns' | 'turnTokens' | 'history'>
  /** `maxNewTokens` is the budget of all calls together. */
  readonly sampling: SamplingParams & { readonly maxNewTokens: number }
  readonly maxLength: number
  /** Prefix of request ids. */
  readonly name: string
  /** An aborted signal ends the sampling. */
  sample(request: GenerationRequest, signal: AbortSignal): Promise<Outcome>
  release(session: string): void
}

/** What an agent asks. */
export interface ChatRequest extends AskedTools {
  readonly messages: readonly ChatMessage[]
  /** Number of answers. Only the one that the agent goes on with is of the episode. Default 1. */
  readonly n?: number | undefined
  readonly maxTokens?: number | undefined
  readonly stop?: readonly string[] | undefined
  /** In place of those of the run. */
  readonly sampling?: Partial<SamplingParams> | undefined
  /** The client says that it sends this request again: it gets the answer that it was given before. */
  readonly isRepeated?: boolean | undefined
  /** Requests with the same name are the same request. */
  readonly idempotencyKey?: string | undefined
}

export interface ChatChoice {
  /** As clients of OpenAI's API read it: arguments of calls are JSON text. */
  readonly message: ChatMessage & { readonly content: string | null; readonly tool_calls?: readonly ClientCall[] }
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  readonly completion: Completion
}

export interface ClientCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ChatAnswer {
  readonly choices: readonly ChatChoice[]
  readonly promptIds: Int32Array
  /** The agent has the whole answer. An answer that was not delivered is given again to the same request. */
  delivered(): void
}

/** What agents do in turns: they ask the policy. */
export interface Policy {
  chat(request: ChatRequest, options?: { readonly signal?: AbortSignal }): Promise<ChatAnswer>
}

/**
 * `request`: the request is wrong. `limit`: a limit of the episode was reached. `busy`: too many calls at a time. `ended`: the episode is
 * over. `generator`: the engine failed.
 */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  constructor(
    readonly reason: 'request' | 'limit' | 'busy' | 'ended' | 'generator',
    message: string,
    options: ErrorOptions = {},
  ) {
    super(message, options)
  }
}

const mostAtATime = 16
const mostChoices = 16
const mostRepeats = 2
/** Calls in all, for each turn that an episode may have. */
const callsPerTurn = 8

interface Call {
  readonly nodes: readonly CallNode[]
  readonly choices: readonly ChatChoice[]
  readonly promptIds: Int32Array
}

export class Recorder implements Policy {
  readonly #nodes: CallNode[] = []
  /** The answers to a conversation, by its key. */
  readonly #byKey = new Map<string, CallNode>()
  readonly #calls = new Map<string, Call>()
  readonly #sessions = new Set<string>()
  readonly #ended = new AbortController()
  #asked = 0
  #running = 0
  #sampled = 0
  #limit: Limit | undefined
  #failure: { readonly error: unknown } | undefined
  #whenLimited: (() => void) | undefined

  constructor(
    private readonly world: RecorderWorld,
    private readonly key: EpisodeKey,
  ) {}

  /** The limit that a request was refused for. */
  get limit(): Limit | undefined {
    return this.#limit
  }

  /** What the engine failed with. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** The number of answers so far. */
  get answers(): number {
    return this.#nodes.length
  }

  /** Called once a limit was reached or the engine failed: the agent has nothing more to ask. */
  onStopped(call: () => void): void {
    this.#whenLimited = call
  }

  /** The episode so far. */
  line(): RecordedLine {
    return episodeLine(this.#nodes)
  }

  /** No call is answered from now on. What the engine keeps is released. */
  end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort(new PolicyError('ended', 'the episode has ended'))
    for (const session of this.#sessions) this.world.release(session)
  }

  async chat(request: ChatRequest, { signal }: { readonly signal?: AbortSignal } = {}): Promise<ChatAnswer> {
    if (this.#ended.signal.aborted) throw this.#ended.signal.reason
    const { n = 1, maxTokens, stop = [], sampling = {} } = request
    if (!Number.isInteger(n) || n < 1 || n > mostChoices)
      throw new PolicyError('request', `n must be between 1 and ${mostChoices}, got ${n}`)
    const known = this.repeated(request)
    if (known) return this.answerOf(known)
    if (this.#running >= mostAtATime)
      throw new PolicyError('busy', `${mostAtATime} calls of this episode are being answered; ask again later`)
    this.#running++
    const both = AbortSignal.any([this.#ended.signal, ...(signal ? [signal] : [])])
    try {
      const set = await this.toolSet(request)
      const messages = templateMessages(request.messages)
      const read = await this.read(messages, set)
      const room = this.room(read.ids.length, read.parent, maxTokens)
      const call = this.#asked++
      const given = { ...this.world.sampling, ...sampling, ...(stop.length > 0 ? { stop: [...stop] } : {}) }
      const ends = [...set.junctions.turnEndIds].filter(id => !this.world.tokenizer.stopIds.includes(id))
      const params = { ...given, stopIds: [...new Set([...(given.stopIds ?? []), ...ends])] }
      const sampled = await Promise.all(
        Array.from({ length: n }, (_, choice) => this.sample({ read, call, choice, n, room, params, signal: both })),
      )
      const nodes: CallNode[] = []
      const choices: ChatChoice[] = []
      for (const one of sampled) {
        const { node, choice } = await this.keep(one, { read, call, asked: messages, set })
        nodes.push(node)
        choices.push(choice)
      }
      const found = { nodes, choices, promptIds: read.ids }
      this.#calls.set(requestKey(request), found)
      if (request.idempotencyKey !== undefined) this.#calls.set(`key ${request.idempotencyKey}`, found)
      return this.answerOf(found)
    } catch (error) {
      both.throwIfAborted()
      throw error
    } finally {
      this.#running--
    }
  }

  /** The answer that the same request was given. */
  private repeated(request: ChatRequest): Call | undefined {
    const { idempotencyKey: name, isRepeated } = request
    const named = name === undefined ? undefined : this.#calls.get(`key ${name}`)
    if (named) return named
    const same = this.#calls.get(requestKey(request))
    // A client that lost its connection asks again. One that has its answer asks for another.
    return same && (isRepeated || !same.nodes.some(({ delivered }) => delivered)) ? same : undefined
  }

  private answerOf({ choices, nodes, promptIds }: Call): ChatAnswer {
    const delivered = (): void => {
      for (const node of nodes) node.delivered = true
    }
    return { choices, promptIds, delivered }
  }

  private async toolSet({ tools, variables }: AskedTools): Promise<ToolSet> {
    try {
      return await this.world.toolSets.of({ tools, variables })
    } catch (error) {
      throw wrongRequest(error)
    }
  }

  /** The ids of a conversation: those of the longest known beginning, and what follows it. */
  private async read(messages: readonly ChatMessage[], set: ToolSet): Promise<Read> {
    try {
      const keys = prefixKeys(messages, set.key)
      for (let length = messages.length - 1; length > 0; length--) {
        const parent = this.#byKey.get(keys[length - 1]!)
        if (!parent) continue
        const added = messages.slice(length)
        // A turn of the assistant that the policy did not say: the history was edited.
        if (added.some(({ role }) => role === 'assistant')) break
        const next = await this.following(parent, messages, added, set)
        if (!next) break
        return { parent, added, observationIds: next, ids: joined(parent.ids, next), key: keys.at(-1)! }
      }
      const ids = await set.junctions.start(messages)
      return { parent: undefined, added: messages, observationIds: ids, ids, key: keys.at(-1) ?? set.key }
    } catch (error) {
      throw wrongRequest(error)
    }
  }

  /** The ids after an answer; undefined where the chat template rewrote the conversation. */
  private async following(
    { ids, completion, calls }: CallNode,
    messages: readonly ChatMessage[],
    added: readonly ChatMessage[],
    { junctions }: ToolSet,
  ): Promise<Int32Array | undefined> {
    if (this.world.limits.history === 'template') {
      const whole = await junctions.start(messages)
      return startsWith(whole, ids) ? whole.slice(ids.length) : undefined
    }
    const lastId = completion.responseIds.at(-1)
    return junctions.next(added, { lastId, calls: calls.map(answeredCall) })
  }

  private room(length: number, parent: CallNode | undefined, asked = Number.POSITIVE_INFINITY): number {
    const { limits, sampling, maxLength } = this.world
    if ((parent?.depth ?? 0) >= limits.turns) throw this.limited('turns', `${limits.turns} turns`)
    const most = callsPerTurn * limits.turns
    if (this.#asked >= most) throw this.limited('turns', `${most} calls of the policy`)
    const left = sampling.maxNewTokens - this.#sampled
    if (left < 1) throw this.limited('sampled-tokens', `${sampling.maxNewTokens} sampled tokens`)
    if (length >= maxLength) throw this.limited('context', `a context of ${maxLength} tokens`)
    if (asked < 1) throw new PolicyError('request', `max_tokens must be at least 1, got ${asked}`)
    return Math.min(limits.turnTokens ?? Number.POSITIVE_INFINITY, left, maxLength - length, asked)
  }

  private limited(limit: Limit, what: string): PolicyError {
    this.#limit ??= limit
    this.#whenLimited?.()
    return new PolicyError('limit', `the episode has reached its limit of ${what}`)
  }

  private async sample(options: {
    readonly read: Read
    readonly call: number
    readonly choice: number
    readonly n: number
    readonly room: number
    readonly params: SamplingParams
    readonly signal: AbortSignal
  }): Promise<Sampled> {
    const { read, call, choice, n, room, params, signal } = options
    const { promptId, sample, attempt } = this.key
    const { name } = this.world
    // One name for each chain: what an engine keeps is for conversations that go on.
    const session = n === 1 ? `${name}/${promptId}/${sample}/${attempt}/${read.parent?.chain ?? call}` : undefined
    if (session !== undefined) this.#sessions.add(session)
    const isFirst = call + choice + attempt === 0
    const drawn = `${promptId}/attempt ${attempt}/turn ${call}${choice === 0 ? '' : `/choice ${choice}`}`
    const request = {
      id: `${name}/${promptId}/${sample}/${attempt}/${call}/${choice}`,
      promptIds: read.ids,
      // The first call draws the random numbers of a sample without an environment.
      promptId: isFirst ? promptId : drawn,
      firstSample: sample,
      sampling: { ...params, maxNewTokens: room, minNewTokens: Math.min(params.minNewTokens ?? 0, room) },
      ...(session === undefined ? {} : { session }),
    }
    const outcome = await this.outcomeOf(request, signal)
    const { responseIds, logprobs, versions, policyVersion, finishReason, stopReason } = outcome
    this.#sampled += responseIds.length
    if (finishReason === 'abort') throw new PolicyError('ended', 'the engine cancelled the answer')
    return { completion: { responseIds, logprobs, versions, policyVersion, finishReason }, stopReason }
  }

  /** A request that failed because of the engine is repeated; the agent does not notice. */
  private async outcomeOf(request: GenerationRequest, signal: AbortSignal): Promise<Sample> {
    for (let repeat = 0; ; repeat++) {
      const id = repeat === 0 ? request.id : `${request.id} again ${repeat}`
      let outcome: Outcome
      try {
        outcome = await this.world.sample({ ...request, id }, signal)
      } catch (error) {
        signal.throwIfAborted()
        throw this.failed(error)
      }
      signal.throwIfAborted()
      if (outcome.kind === 'completed') return outcome
      if (outcome.kind === 'rejected') throw new PolicyError('request', outcome.message)
      if (outcome.reason === 'unreachable') throw this.failed(new EngineLostError(outcome.message))
      if (repeat < mostRepeats && outcome.reason !== 'non-finite') continue
      throw this.failed(new PolicyError('generator', `${outcome.reason}: ${outcome.message}`))
    }
  }

  private failed(error: unknown): PolicyError {
    this.#failure ??= { error }
    this.#whenLimited?.()
    return error instanceof PolicyError ? error : new PolicyError('generator', messageOf(error), { cause: error })
  }

  private async keep(
    { completion, stopReason }: Sampled,
    {
      read,
      call,
      asked,
      set,
    }: { readonly read: Read; readonly call: number; readonly asked: readonly ChatMessage[]; readonly set: ToolSet },
  ): Promise<{ readonly node: CallNode; readonly choice: ChatChoice }> {
    const { parent, added, observationIds } = read
    const raw = await turnText(this.world.tokenizer, completion.responseIds)
    const at = typeof stopReason === 'string' ? raw.lastIndexOf(stopReason) : -1
    const whole = at < 0 ? raw : raw.slice(0, at)
    const said = parseTurn(whole, set.format)
    const place = this.#nodes.length
    const calls = said.calls.map((one, i) => checked(one, callId(this.key, place, i), set))
    const message = messageOfTurn(said.text, said.reasoning, calls)
    const told = toldMessage(whole, message, calls)
    const node: CallNode = {
      place,
      parent,
      chain: parent?.chain ?? call,
      depth: (parent?.depth ?? 0) + 1,
      key: extendedKey(read.key, told),
      ...{ asked, added, observationIds, completion, message, told, calls },
      ids: joined(read.ids, completion.responseIds),
      text: said.text,
      withTools: set.checks.size > 0,
      delivered: false,
    }
    this.#nodes.push(node)
    if (!this.#byKey.has(node.key)) this.#byKey.set(node.key, node)
    const finishReason = told.tool_calls ? 'tool_calls' : completion.finishReason
    return { node, choice: { message: told, finishReason, completion } }
  }
}

interface Read {
  readonly parent: CallNode | undefined
  readonly added: readonly ChatMessage[]
  readonly observationIds: Int32Array
  readonly ids: Int32Array
  /** Of the conversation that was asked. */
  readonly key: string
}

interface Sampled {
  readonly completion: Completion
  readonly stopReason: string | number | undefined
}

/** The agent gets a turn whose calls have names as calls, and any other turn as the text that it is. */
function toldMessage(text: string, { content }: ChatMessage, calls: readonly ToolCall[]): ChatChoice['message'] {
  if (calls.length === 0 || calls.some(({ name }) => name === ''))
    return { role: 'assistant', content: calls.length === 0 ? String(content) : text.trim() }
  const given = calls.map(
    ({ id, name, argumentsText }): ClientCall => ({
      id,
      type: 'function',
      function: { name, arguments: argumentsText },
    }),
  )
  return { role: 'assistant', content: content === '' ? null : String(content), tool_calls: given }
}

/** The agent checks its calls itself. What the record says of them is for metrics and rewards. */
function checked(call: ParsedCall, id: string, { checks }: ToolSet): ToolCall {
  const { name, argumentsText } = call
  const known = { id, name, argumentsText }
  if (call.status !== 'ok') return { ...known, status: call.status, message: call.message }
  const check = checks.get(name)
  if (!check) return { ...known, status: 'unknown-tool', message: `there is no tool "${name}"` }
  const input = check(call.arguments)
  return input.kind === 'ok'
    ? { ...known, status: 'ok', input: input.input }
    : { ...known, status: 'schema', message: input.message }
}

function requestKey({ messages, tools, variables, n, maxTokens, stop, sampling }: ChatRequest): string {
  const before = hashOf([tools ?? [], variables ?? {}, n ?? 1, maxTokens ?? null, stop ?? [], sampling ?? {}])
  return `request ${prefixKeys(messages, before).at(-1) ?? before}`
}

const wrongRequest = (error: unknown): unknown =>
  error instanceof ChatTemplateError || error instanceof EnvironmentError
    ? new PolicyError('request', error.message, { cause: error })
    : error

function joined(first: Int32Array, rest: Int32Array): Int32Array {
  const ids = new Int32Array(first.length + rest.length)
  ids.set(first)
  ids.set(rest, first.length)
  return ids
}
