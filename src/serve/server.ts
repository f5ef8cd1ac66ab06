/**
 * An OpenAI-compatible server over an engine, with vLLM's additional fields. Uses node:http directly: a few routes need no framework, and
 * limits, back-pressure, disconnects and draining would be hidden in one.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GenerationDefaults, Generator, ReplaceableWeights } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import { Access, preflightHeaders } from './access.js'
import { Admission, type Ticket } from './admission.js'
import { chatCompletions, completions } from './completions.js'
import { adapterRoutes, type ControlRoute, controlRoutes } from './control/control-routes.js'
import { ServerControl } from './control/server-control.js'
import { WeightsRoot } from './control/weights-root.js'
import { EncodeQueue } from './encode-queue.js'
import { ApiError, badRequest } from './errors.js'
import { Exchange, type Served } from './exchange.js'
import { generateTokens } from './generate-tokens.js'
import { InFlight } from './in-flight.js'
import type { LogprobsMode } from './logprobs-mode.js'
import { metricsText } from './metrics.js'
import { type BodyLimits, parseBody, readBody } from './read-body.js'
import { RecordedSessions, type RecordOptions } from './recorder/recorded-sessions.js'
import { type MediaOptions, RequestMedia } from './request-media.js'
import { detokenize, model, models, tokenize } from './small-routes.js'
import { TokenTexts } from './token-text.js'

export interface ServeOptions {
  engine: Generator
  tokenizer: Tokenizer | undefined
  /** The model's name in requests and answers. */
  name: string
  /** Sampling parameters of requests that leave them out, as `generation_config.json` of the model has them. */
  defaults?: GenerationDefaults
  /** Default 127.0.0.1: only this machine. */
  host?: string
  /** 0: any free port. */
  port: number
  /** Clients must send it as a bearer token, except for `/health` and `/metrics`. */
  apiKey?: string
  /** Further host names in requests, such as a proxy's. `host`, localhost and IP addresses are always allowed. */
  allowHosts?: readonly string[]
  /** Origins of web pages that may send requests, such as `https://chat.example`; `*`: any. */
  allowOrigins?: readonly string[]
  /** Default 16 MiB. */
  maxBodyBytes?: number
  /** Most concurrent requests; more are refused with 429. Default 512. */
  maxRequests?: number
  /** Most choices of all concurrent requests; more are refused with 429. Default 16,384. */
  maxSamples?: number
  /** Memory limit of a request and its answer; more is refused with 400. Default 256 MiB. */
  maxRequestBytes?: number
  /** Memory limit of all requests together; more is refused with 429. Default 1 GiB. */
  maxTotalBytes?: number
  /** Meaning of the sampled tokens' log-probabilities. Default `raw_logprobs`; those of prompts are always raw. */
  logprobsMode?: LogprobsMode
  /** Clients may pause the server, put it to sleep and load other weights. Needs `apiKey`. */
  control?: ControlOptions
  /** Least speed of a request body. Default: 4 KiB per second, after the first 5 seconds. */
  bodyRate?: Pick<BodyLimits, 'graceMs' | 'minBytesPerSecond'>
  /** Of a vision-language model. Default: requests with images or videos are refused. */
  media?: MediaOptions
  /** Clients may open sessions, whose chat completions become episodes. Needs `apiKey`. */
  record?: RecordOptions
  /** How long a client may read nothing of its answer. Default 2 minutes. */
  stallMs?: number
}

/** Control by clients; see `docs/serve.md`. */
export interface ControlOptions {
  weights: ReplaceableWeights
  /** The directory that clients may load weights and adapters from; undefined: none. */
  weightsRoot?: string
  /** Most adapters that are loaded at the same time. Default 8. */
  maxAdapters?: number
}

type Route = (served: Served, exchange: Exchange) => void | Promise<void>

const open = new Set(['/health', '/metrics', '/version'])
const modelPrefix = '/v1/models/'
const sessionPath = /^\/v1\/sessions\/([\w-]+)\/end$/

export class ModelServer {
  private readonly http: Server
  private readonly served: Served
  private readonly access: Access
  private readonly admission: Admission
  private readonly body: BodyLimits
  private readonly control: ServerControl | undefined
  private readonly controlRoutes: Readonly<Record<string, ControlRoute>>
  private readonly sessions: RecordedSessions | undefined
  private readonly answered = new Map<string, number>()
  private active = 0
  private draining = false
  private idle: (() => void) | undefined
  private readonly routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
    '/health': { GET: (_, exchange) => exchange.text(200, '') },
    '/version': { GET: (_, exchange) => exchange.json(200, { version: packageVersion() }) },
    '/metrics': {
      GET: ({ engine }, exchange) => {
        const { answered, active, admission } = this
        exchange.text(200, metricsText(engine.counts, { answered, active, bytes: admission.bytes }), {
          'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        })
      },
    },
    '/v1/models': { GET: models },
    '/v1/completions': { POST: completions },
    '/v1/chat/completions': { POST: (served, exchange) => this.chat(served, exchange) },
    '/inference/v1/generate': { POST: generateTokens },
    '/tokenize': { POST: tokenize },
    '/detokenize': { POST: detokenize },
  }

  private constructor(
    private readonly options: ServeOptions,
    root: WeightsRoot | undefined,
  ) {
    const { engine, tokenizer, name, host = '127.0.0.1', apiKey, allowHosts = [], allowOrigins = [] } = options
    const maxBytes = options.maxBodyBytes ?? 16 << 20
    this.access = new Access({ apiKey, hosts: [host, ...allowHosts], origins: allowOrigins })
    this.body = { maxBytes, ...(options.bodyRate ?? { graceMs: 5000, minBytesPerSecond: 4096 }) }
    this.admission = new Admission({
      maxRequests: options.maxRequests ?? 512,
      maxSamples: options.maxSamples ?? 16_384,
      maxRequestBytes: options.maxRequestBytes ?? 256 * 2 ** 20,
      maxTotalBytes: options.maxTotalBytes ?? 2 ** 30,
      maxBodyBytes: 16 * maxBytes,
    })
    const inFlight = new InFlight(engine)
    const { control } = options
    if (control) {
      const { weights, maxAdapters = 8 } = control
      this.control = new ServerControl({ engine, weights, root, maxAdapters, name, inFlight })
    }
    this.controlRoutes = control ? { ...controlRoutes, ...(control.weights.takesAdapters ? adapterRoutes : {}) } : {}
    this.served = {
      name,
      engine,
      inFlight,
      turns: this.control?.turns,
      sets: this.control?.sets ?? new Map([[name, { name, adapter: undefined, source: undefined }]]),
      versionName: version => this.control?.versions.of(version) ?? `${version}`,
      tokenizer,
      encoder: tokenizer && new EncodeQueue(tokenizer),
      texts: new TokenTexts(tokenizer),
      media: options.media && new RequestMedia(options.media),
      logprobsMode: checkMode(options.logprobsMode ?? 'raw_logprobs', engine),
      limits: { vocabSize: engine.vocabSize, maxLength: engine.maxLength, eosIds: tokenizer?.stopIds ?? [] },
      defaults: options.defaults ?? {},
      started: Math.floor(Date.now() / 1000),
    }
    this.sessions = options.record && new RecordedSessions(this.served, options.record)
    // Closes connections that send nothing, and those whose headers or body take too long.
    const timeouts = { headersTimeout: 10_000, requestTimeout: 120_000, connectionsCheckingInterval: 1000 }
    this.http = createServer(timeouts, (request, response) => void this.handle(request, response))
    this.http.maxConnections = 4096
  }

  /** Resolves when it listens. */
  static async start(options: ServeOptions): Promise<ModelServer> {
    const { control, apiKey } = options
    if (control && apiKey === undefined)
      throw new RangeError('control needs an API key: clients can change the served model')
    if (options.record && apiKey === undefined) throw new RangeError('record needs an API key: sessions are of clients')
    const root = control?.weightsRoot === undefined ? undefined : await WeightsRoot.open(control.weightsRoot)
    const server = new ModelServer(options, root)
    const { http } = server
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject)
      http.listen(options.port, options.host ?? '127.0.0.1', () => {
        http.off('error', reject)
        resolve()
      })
    })
    return server
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port
  }

  /** Refuses new requests and waits for those in flight; after `graceMs` ends them with their tokens so far. */
  async close({ graceMs }: { graceMs: number }): Promise<void> {
    this.draining = true
    const closed = new Promise<void>(resolve => this.http.close(() => resolve()))
    this.http.closeIdleConnections()
    if (this.active > 0) {
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        new Promise<void>(resolve => {
          this.idle = resolve
        }),
        new Promise<void>(resolve => {
          timer = setTimeout(resolve, graceMs)
        }),
      ])
      clearTimeout(timer)
    }
    if (this.active > 0) {
      this.served.inFlight.abortAll()
      // Sends the answers that are ready; does not wait for a client that does not read.
      await new Promise(resolve => setTimeout(resolve, 250))
    }
    this.http.closeAllConnections()
    await closed
    this.sessions?.close()
    await this.control?.close()
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authority, path } = targetOf(request)
    const ticket = this.admission.ticket()
    const exchange = new Exchange(request, response, { stallMs: this.options.stallMs ?? 120_000, ticket })
    const known = path.startsWith(modelPrefix) ? modelPrefix : this.isKnown(path) ? path : 'other'
    this.active++
    response.on('close', () => {
      this.active--
      ticket.release()
      const key = `${known} ${response.statusCode}`
      this.answered.set(key, (this.answered.get(key) ?? 0) + 1)
      if (this.active === 0) this.idle?.()
    })
    response.on('error', () => {})
    request.on('error', () => {})
    try {
      if (this.draining) throw new ApiError(503, 'the server is shutting down', { headers: { connection: 'close' } })
      const shared = this.access.check(request, authority)
      for (const [name, value] of Object.entries(shared)) response.setHeader(name, value)
      if (request.method === 'OPTIONS' && shared.vary) return exchange.text(204, '', preflightHeaders)
      if (Object.hasOwn(this.controlRoutes, path)) return await this.obey(this.controlRoutes[path]!, exchange, ticket)
      const route = this.routeOf(path)
      if (!route) return exchange.json(404, { detail: 'Not Found' })
      const action = route[request.method === 'HEAD' ? 'GET' : (request.method ?? '')]
      if (!action) return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: Object.keys(route).join(', ') })
      const session = this.sessions?.ofKey(request)
      if (session && !this.sessions!.mayAsk(path, session))
        throw new ApiError(403, 'the key of a session asks for its own chat completions and its end')
      if (!open.has(path) && !session && !this.access.authorized(request))
        return exchange.json(401, { error: 'Unauthorized' })
      if (request.method === 'POST') await this.take(exchange, ticket)
      await action(this.served, exchange)
    } catch (error) {
      this.refuse(exchange, error)
    }
  }

  private async chat(served: Served, exchange: Exchange): Promise<void> {
    if (await this.sessions?.chat(exchange)) return
    if (!this.sessions && exchange.request.headers['x-whetstone-session'] !== undefined)
      throw badRequest('x-whetstone-session: this server records no sessions; start it with --record.')
    await chatCompletions(served, exchange)
  }

  private isKnown(path: string): boolean {
    return Object.hasOwn(this.routes, path) || Object.hasOwn(this.controlRoutes, path)
  }

  /** Control routes are not counted as requests: a full server can still be paused. */
  private async obey({ method, body, run }: ControlRoute, exchange: Exchange, ticket: Ticket): Promise<void> {
    const { request } = exchange
    if (request.method !== method) return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: method })
    if (!this.access.authorized(request)) return exchange.json(401, { error: 'Unauthorized' })
    if (body === 'json') exchange.body = parseBody(await readBody(request, { ...this.body, maxBytes: 1 << 20 }, ticket))
    await run(this.control!, exchange, this.served.inFlight)
  }

  private routeOf(path: string): Readonly<Record<string, Route>> | undefined {
    if (Object.hasOwn(this.routes, path)) return this.routes[path]
    const { sessions } = this
    if (sessions && path === '/v1/sessions') return { POST: (_, exchange) => sessions.open(exchange) }
    const [, id] = sessionPath.exec(path) ?? []
    if (sessions && id) return { POST: (_, exchange) => sessions.end(id, exchange) }
    const name = path.startsWith(modelPrefix) ? decoded(path.slice(modelPrefix.length)) : undefined
    return name === undefined ? undefined : { GET: (served, exchange) => model(served, exchange, name) }
  }

  /** Reads the body. A request takes a place only after that, so a slow upload does not block others. */
  private async take(exchange: Exchange, ticket: Ticket): Promise<void> {
    const bytes = await readBody(exchange.request, this.body, ticket)
    ticket.enter()
    exchange.body = parseBody(bytes)
  }

  private refuse(exchange: Exchange, error: unknown): void {
    const { request, response, signal } = exchange
    if (error instanceof ApiError) {
      const { headers = {} } = error.options
      exchange.json(error.status, error.body, headers)
      // The rest of the body is not read; the connection ends with the answer.
      if (headers.connection === 'close') response.once('finish', () => request.destroy())
      return
    }
    // The connection closed before the body was complete: there is no client to answer.
    if (signal.aborted || !request.complete) return
    console.error(error)
    if (response.headersSent) response.destroy()
    else exchange.json(500, new ApiError(500, 'internal error').body)
  }
}

/** Host and path of a request: `/path`, or `http://host/path` as in requests to proxies, which overrides `Host`. */
function targetOf({ url = '/', headers }: IncomingMessage): { authority: string | undefined; path: string } {
  const [, authority, target] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  const path = (target ?? url).split('?')[0]!
  return { authority: authority ?? headers.host, path: path === '' ? '/' : path }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function checkMode(mode: LogprobsMode, { capabilities }: Generator): LogprobsMode {
  if (mode === 'processed_logprobs' && !capabilities.logprobs.includes('processed'))
    throw new RangeError('logprobsMode processed_logprobs: this engine does not give processed log-probabilities')
  return mode
}

function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
