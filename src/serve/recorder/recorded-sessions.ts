/**
 * Recorded sessions of a server: `POST /v1/sessions` opens one, chat completions with its key (or with the server's key and its id in a
 * header) are recorded, and `POST /v1/sessions/ID/end` gives the episode. A session that is left alone is released.
 */
import { appendFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { type EpisodeKey, Recorder, ToolSets } from '../../environment/index.js'
import type { GenerationRequest, Outcome } from '../../rollout/index.js'
import { badRequest } from '../errors.js'
import { type Exchange, type Served, weightsOf } from '../exchange.js'
import { integer, string } from '../field-schemas.js'
import { type FieldTable, honoured, RequestShape } from '../request-shape.js'
import { anySeed, readSampling, withDefaults } from '../sampling-fields.js'
import { endReward } from './end-session.js'
import { episodeJson } from './episode-json.js'
import { type ChatFields, recordedChat } from './recorded-chat.js'
import { type BookedSession, SessionBook } from './session-book.js'

export interface RecordOptions {
  /** A line of JSON is added for each episode that ends. Default: episodes are only answers. */
  readonly file?: string
  /** Default 1024; more are refused with 429. */
  readonly maxSessions?: number
  /** Sessions without a request for so long are released. Default 1800. */
  readonly idleSeconds?: number
}

const sessionFields = {
  turns: honoured(integer, 'most turns of a conversation; default 256'),
  max_tokens: honoured(integer, 'most sampled tokens of all calls together; default 1,000,000'),
  history: honoured(string, 'exact, append or template, as `episode.history` of a run; default exact'),
} satisfies FieldTable

const shape = new RequestShape(sessionFields)
const histories = ['exact', 'append', 'template'] as const

interface Recording {
  readonly recorder: Recorder
  readonly key: EpisodeKey
  timer: NodeJS.Timeout | undefined
}

export class RecordedSessions {
  readonly #book: SessionBook<Recording>
  readonly #toolSets = new Map<string, ToolSets>()
  readonly #now = new Date()
  #count = 0
  /** Lines are written one after another. */
  #written: Promise<void> = Promise.resolve()

  constructor(
    private readonly served: Served,
    private readonly options: RecordOptions,
  ) {
    this.#book = new SessionBook(options.maxSessions ?? 1024)
  }

  /** The session whose key a request has. */
  ofKey(request: IncomingMessage): BookedSession<Recording> | undefined {
    return this.#book.ofKey(request)
  }

  /** The key of a session asks for nothing but its own. */
  mayAsk(path: string, { id }: BookedSession<Recording>): boolean {
    return ['/v1/chat/completions', '/v1/models', `/v1/sessions/${id}/end`].includes(path)
  }

  open(exchange: Exchange): void {
    const { tokenizer, engine, name } = this.served
    if (!tokenizer?.hasChatTemplate)
      throw badRequest('this model has no chat template, and sessions are conversations.')
    const { turns = 256, max_tokens: maxNewTokens = 1_000_000, history: asked = 'exact' } = shape.read(exchange.body)
    const history = histories.find(one => one === asked)
    if (!history) throw badRequest(`history must be ${histories.join(', ')}, got ${asked}.`, 'history')
    if (turns < 1 || maxNewTokens < 1) throw badRequest('turns and max_tokens must be at least 1.')
    const toolSets = this.#toolSets.get(history) ?? this.#sets(history)
    const key = { promptId: `session ${++this.#count}`, sample: 0, attempt: 0 }
    const recorder = new Recorder(
      {
        ...{ tokenizer, toolSets, name, maxLength: engine.maxLength },
        limits: { turns, turnTokens: undefined, history },
        sampling: { seed: anySeed(), maxNewTokens },
        sample: (request, signal) => this.#sample(request, signal),
        release: session => engine.release?.(session),
      },
      key,
    )
    const session = this.#book.open({ recorder, key, timer: undefined })
    this.#touch(session)
    exchange.json(200, { id: session.id, object: 'session', key: session.key })
  }

  /** True where the request is one of a session. */
  async chat(exchange: Exchange): Promise<boolean> {
    const session = this.#book.ofKey(exchange.request) ?? this.#book.named(exchange.request)
    if (!session) return false
    const { name } = weightsOf(this.served, exchange.body.model as string | undefined)
    if (name !== this.served.name) throw badRequest('sessions are of the model itself, not of an adapter.', 'model')
    this.#touch(session)
    try {
      await recordedChat(session.of.recorder, exchange, { model: name, sampling: fields => this.#sampling(fields) })
    } finally {
      this.#touch(session)
    }
    return true
  }

  /** The episode of a session, which is over. */
  async end(id: string, exchange: Exchange): Promise<void> {
    const session = this.#book.get(id)
    if (!session) return exchange.json(404, { detail: 'Not Found' })
    const reward = endReward(exchange.body)
    this.#release(session)
    const { recorder } = session.of
    const episode = episodeJson(id, recorder, reward)
    const { file } = this.options
    if (file !== undefined) {
      const line = `${JSON.stringify(episode)}\n`
      this.#written = this.#written.then(() => appendFile(file, line))
      await this.#written
    }
    exchange.json(200, episode)
  }

  get size(): number {
    return this.#book.size
  }

  close(): void {
    for (const session of this.#book.all()) this.#release(session)
  }

  #release(session: BookedSession<Recording>): void {
    clearTimeout(session.of.timer)
    this.#book.close(session)
    session.of.recorder.end()
  }

  #touch(session: BookedSession<Recording>): void {
    clearTimeout(session.of.timer)
    if (this.#book.get(session.id) !== session) return
    session.of.timer = setTimeout(() => this.#release(session), 1000 * (this.options.idleSeconds ?? 1800))
    session.of.timer.unref()
  }

  #sets(history: (typeof histories)[number]): ToolSets {
    const { tokenizer } = this.served
    const limits = { history, toolFormat: 'auto' } as const
    const made = new ToolSets({ tokenizer: tokenizer!, limits, adds: ['tool', 'user'], now: this.#now })
    this.#toolSets.set(history, made)
    return made
  }

  /** The seed of a request counts; without one, the session has its own. */
  #sampling(fields: ChatFields) {
    const { engine, limits, defaults } = this.served
    const { capabilities } = engine
    const given = readSampling(withDefaults(fields, defaults), { ...limits, capabilities, maxTokens: undefined })
    const { promptLogprobs: _, ...params } = given.params
    return { ...params, ...(given.seed === undefined ? {} : { seed: given.seed }) }
  }

  async #sample(request: GenerationRequest, signal: AbortSignal): Promise<Outcome> {
    const { engine, inFlight, turns, sets, name } = this.served
    const flight = inFlight.add(request.id, [request.id])
    const cancel = (): void => flight.abort()
    signal.addEventListener('abort', cancel)
    let leave: (() => void) | undefined
    try {
      leave = await turns?.enter(sets.get(name)!, flight.signal)
      for await (const outcome of engine.generate([request], { signal: flight.signal })) return outcome
      throw signal.reason ?? new Error('the engine cancelled the request')
    } finally {
      leave?.()
      signal.removeEventListener('abort', cancel)
      flight.land()
    }
  }
}
