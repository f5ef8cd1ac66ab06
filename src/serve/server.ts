/**
 * An OpenAI-compatible server over the local engine, with vLLM's further fields. Plain node:http: a handful of routes need
 * no framework, and what matters here (back-pressure, disconnects, draining) is below one.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Generator } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import { chatCompletions, encodeMessages } from './chat.js'
import { completions } from './completions.js'
import { ApiError, badRequest } from './errors.js'
import { Exchange, type Served } from './exchange.js'
import { Fields } from './fields.js'
import { generateTokens } from './generate-tokens.js'
import { metricsText } from './metrics.js'
import { TokenTexts } from './token-text.js'

export interface ServeOptions {
  engine: Generator
  tokenizer: Tokenizer | undefined
  vocabSize: number
  /** The model's name in requests and answers. */
  name: string
  /** Default 127.0.0.1: nobody but this machine. */
  host?: string
  /** 0: one that is free. */
  port: number
  /** Clients must send it as a bearer token, except for `/health` and `/metrics`. */
  apiKey?: string
  /** Default 16 MiB. */
  maxBodyBytes?: number
  /** Requests answered at once; more are refused with 429. Default 512. */
  maxRequests?: number
}

type Route = (served: Served, exchange: Exchange) => void | Promise<void>

const open = new Set(['/health', '/metrics', '/version'])

export class ModelServer {
  private readonly http: Server
  private readonly served: Served
  private readonly counts = new Map<string, number>()
  private active = 0
  private draining = false
  private idle: (() => void) | undefined
  private readonly routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
    '/health': { GET: (_, exchange) => exchange.text(200, '') },
    '/version': { GET: (_, exchange) => exchange.json(200, { version: packageVersion() }) },
    '/metrics': {
      GET: ({ engine }, exchange) =>
        exchange.text(200, metricsText(engine.counts, { requests: this.counts, active: this.active }), {
          'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        }),
    },
    '/v1/models': { GET: models },
    '/v1/completions': { POST: completions },
    '/v1/chat/completions': { POST: chatCompletions },
    '/inference/v1/generate': { POST: generateTokens },
    '/tokenize': { POST: tokenize },
    '/detokenize': { POST: detokenize },
  }

  private constructor(private readonly options: ServeOptions) {
    const { engine, tokenizer, name, vocabSize } = options
    this.served = {
      name,
      engine,
      tokenizer,
      texts: new TokenTexts(tokenizer),
      limits: { vocabSize, maxLength: engine.maxLength },
      started: Math.floor(Date.now() / 1000),
      checkModel: fields => {
        const asked = fields.string('model')
        if (asked !== undefined && asked !== name)
          throw new ApiError(404, `The model \`${asked}\` does not exist.`, { param: 'model' })
      },
    }
    this.http = createServer({ requestTimeout: 120_000 }, (request, response) => void this.handle(request, response))
  }

  /** Resolves when it listens. */
  static async start(options: ServeOptions): Promise<ModelServer> {
    const server = new ModelServer(options)
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

  /** Takes no new request, lets those in flight end, and after `graceMs` ends them with what they have. */
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
      this.served.engine.abortAll()
      // Answers that are ready get out; a client that does not read is not waited for.
      await new Promise(resolve => setTimeout(resolve, 250))
    }
    this.http.closeAllConnections()
    await closed
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0]!
    const exchange = new Exchange(request, response)
    const route = this.routes[path]
    this.active++
    response.on('close', () => {
      this.active--
      const key = `${route ? path : 'other'} ${response.statusCode}`
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
      if (this.active === 0) this.idle?.()
    })
    response.on('error', () => {})
    request.on('error', () => {})
    try {
      if (this.draining) throw new ApiError(503, 'the server is shutting down', { headers: { connection: 'close' } })
      if (!route) return exchange.json(404, { detail: 'Not Found' })
      const action = route[request.method === 'HEAD' ? 'GET' : (request.method ?? '')]
      if (!action) return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: Object.keys(route).join(', ') })
      if (!open.has(path) && !this.authorized(request)) return exchange.json(401, { error: 'Unauthorized' })
      if (request.method === 'POST') {
        if (this.active > (this.options.maxRequests ?? 512))
          throw new ApiError(429, 'too many requests at once', { headers: { 'retry-after': '1' } })
        await exchange.read(this.options.maxBodyBytes ?? 16 << 20)
      }
      await action(this.served, exchange)
    } catch (error) {
      this.refuse(exchange, error)
    }
  }

  private refuse(exchange: Exchange, error: unknown): void {
    if (error instanceof ApiError) {
      const { headers = {} } = error.options
      exchange.json(error.status, error.body, headers)
      // What is left of an oversized body is not read; the connection ends with the answer.
      if (error.status === 413) exchange.response.once('finish', () => exchange.request.destroy())
      return
    }
    // Cut off before it was whole: nobody is there to answer.
    if (exchange.signal.aborted || !exchange.request.complete) return
    console.error(error)
    exchange.json(500, new ApiError(500, 'internal error').body)
  }

  private authorized({ headers }: IncomingMessage): boolean {
    const { apiKey } = this.options
    if (apiKey === undefined) return true
    const given = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    // Hashed, so that they are of one length and comparing takes as long for any.
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
    return timingSafeEqual(digest(given), digest(apiKey))
  }
}

function models({ name, started, limits }: Served, exchange: Exchange): void {
  const entry = {
    id: name,
    object: 'model',
    created: started,
    owned_by: 'whetstone',
    root: name,
    parent: null,
    max_model_len: limits.maxLength,
  }
  exchange.json(200, { object: 'list', data: [entry] })
}

async function tokenize(served: Served, exchange: Exchange): Promise<void> {
  const fields = new Fields(exchange.body)
  served.checkModel(fields)
  const { tokenizer } = served
  if (!tokenizer) throw badRequest('this model has no tokenizer.')
  const prompt = fields.string('prompt')
  if (prompt === undefined && fields.list('messages') === undefined)
    throw badRequest('prompt or messages is needed.', 'prompt')
  const ids =
    prompt === undefined
      ? await encodeMessages(served, fields)
      : await tokenizer.encode(prompt, { addSpecialTokens: fields.flag('add_special_tokens') ?? true })
  const strings = fields.flag('return_token_strs') ? Array.from(ids, id => tokenizer.tokenOf(id) ?? '') : null
  exchange.json(200, {
    count: ids.length,
    max_model_len: served.limits.maxLength,
    tokens: Array.from(ids),
    token_strs: strings,
  })
}

async function detokenize(served: Served, exchange: Exchange): Promise<void> {
  const fields = new Fields(exchange.body)
  served.checkModel(fields)
  if (!served.tokenizer) throw badRequest('this model has no tokenizer.')
  const tokens = fields.integers('tokens')
  if (!tokens) throw badRequest('tokens is needed.', 'tokens')
  const stray = tokens.find(id => id < 0 || id >= served.limits.vocabSize)
  if (stray !== undefined) throw badRequest(`Token id ${stray} is out of vocabulary`)
  exchange.json(200, { prompt: await served.tokenizer.decode(tokens) })
}

function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
