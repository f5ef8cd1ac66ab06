/**
 * The endpoint that agents of a training ask: OpenAI's chat completions, answered by the policy of the run. Each episode has a key of its
 * own. Nothing is answered without one, and the key ends with its episode.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Policy } from '../../environment/index.js'
import { Access } from '../access.js'
import { Admission, type Ticket } from '../admission.js'
import { ApiError } from '../errors.js'
import { Exchange } from '../exchange.js'
import { parseBody, readBody } from '../read-body.js'
import { endReward } from './end-session.js'
import { recordedChat } from './recorded-chat.js'
import { type BookedSession, SessionBook } from './session-book.js'

const bodyLimits = { maxBytes: 16 << 20, graceMs: 5000, minBytesPerSecond: 4096 }
const model = 'policy'

interface Served {
  readonly policy: Policy
  reward: number | undefined
}

/** What an agent needs to ask the policy. */
export interface AgentEndpoint {
  /** For clients: `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string
  /** The API key of clients. */
  readonly apiKey: string
  /** Where the agent may post `{"reward": 1}`. */
  readonly endUrl: string
  /** Any name works; answers have this one. */
  readonly model: string
}

interface OpenedEndpoint extends AgentEndpoint {
  /** The reward that the agent posted. */
  readonly reward: () => number | undefined
  close(): void
}

export class AgentServer {
  readonly #http: Server
  readonly #book = new SessionBook<Served>(65_536)
  readonly #access = new Access({ apiKey: undefined, hosts: ['127.0.0.1'], origins: [] })
  readonly #admission = new Admission({
    maxRequests: 65_536,
    maxSamples: 65_536,
    maxRequestBytes: 2 ** 30,
    maxTotalBytes: 2 ** 32,
    maxBodyBytes: 2 ** 30,
  })

  private constructor() {
    const timeouts = { headersTimeout: 10_000, requestTimeout: 120_000, connectionsCheckingInterval: 1000 }
    this.#http = createServer(timeouts, (request, response) => void this.#handle(request, response))
    // A run that has ended its work is not kept alive by it.
    this.#http.unref()
  }

  /** Listens on this machine alone. */
  static async start(): Promise<AgentServer> {
    const server = new AgentServer()
    await new Promise<void>((resolve, reject) => {
      server.#http.once('error', reject)
      server.#http.listen(0, '127.0.0.1', () => resolve())
    })
    return server
  }

  open(policy: Policy): OpenedEndpoint {
    const session = this.#book.open({ policy, reward: undefined })
    const { port } = this.#http.address() as AddressInfo
    const baseUrl = `http://127.0.0.1:${port}/v1`
    return {
      baseUrl,
      apiKey: session.key,
      endUrl: `${baseUrl}/sessions/${session.id}/end`,
      model,
      reward: () => session.of.reward,
      close: () => this.#book.close(session),
    }
  }

  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#http.close(() => resolve()))
    this.#http.closeAllConnections()
    await closed
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ticket = this.#admission.ticket()
    const exchange = new Exchange(request, response, { stallMs: 120_000, ticket })
    response.on('close', () => ticket.release())
    response.on('error', () => {})
    request.on('error', () => {})
    try {
      this.#access.check(request, request.headers.host)
      const session = this.#book.ofKey(request)
      if (!session) return exchange.json(401, { error: 'Unauthorized' })
      await this.#answer(session, exchange, ticket)
    } catch (error) {
      if (error instanceof ApiError) return exchange.json(error.status, error.body, error.options.headers ?? {})
      if (exchange.signal.aborted || !request.complete) return
      if (response.headersSent) response.destroy()
      else exchange.json(500, new ApiError(500, 'internal error').body)
    }
  }

  async #answer(session: BookedSession<Served>, exchange: Exchange, ticket: Ticket): Promise<void> {
    const { request } = exchange
    const path = (request.url ?? '').split('?')[0]!
    const posted = request.method === 'POST'
    if (path === '/v1/models' && request.method === 'GET')
      return exchange.json(200, {
        object: 'list',
        data: [{ id: model, object: 'model', created: 0, owned_by: 'whetstone' }],
      })
    const isChat = path === '/v1/chat/completions'
    const isEnd = path === `/v1/sessions/${session.id}/end`
    if (!isChat && !isEnd) return exchange.json(404, { detail: 'Not Found' })
    if (!posted) return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: 'POST' })
    exchange.body = parseBody(await readBody(request, bodyLimits, ticket))
    if (isChat) return recordedChat(session.of.policy, exchange, { model })
    session.of.reward = endReward(exchange.body)
    exchange.json(200, { id: session.id, object: 'session', reward: session.of.reward ?? null })
  }
}
