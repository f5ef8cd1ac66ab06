/** What a route gets: what is served, and one request with its answer. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Generator } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import { ApiError, malformed } from './errors.js'
import type { Fields } from './fields.js'
import type { Limits } from './run-request.js'
import type { TokenTexts } from './token-text.js'

export interface Served {
  /** The model's name in requests and answers. */
  name: string
  engine: Generator
  tokenizer: Tokenizer | undefined
  texts: TokenTexts
  limits: Limits
  started: number
  checkModel(fields: Fields): void
}

export class Exchange {
  readonly created = Math.floor(Date.now() / 1000)
  body: Readonly<Record<string, unknown>> = {}
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
  ) {
    const gone = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    this.signal = gone.signal
  }

  /** The request's name: the client's, where it gave one. */
  id(fields: Fields): string {
    const header = this.request.headers['x-request-id']
    return fields.string('request_id') ?? (typeof header === 'string' ? header : randomUUID().replaceAll('-', ''))
  }

  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
    this.text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
  }

  text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
    if (this.response.headersSent || this.response.destroyed) return
    this.response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers })
    this.response.end(body)
  }

  /** Reads the JSON body. */
  async read(maxBytes: number): Promise<void> {
    const { headers } = this.request
    if (!/^application\/json\b/i.test(headers['content-type'] ?? ''))
      throw malformed('the Content-Type must be application/json')
    const tooLarge = (): ApiError =>
      new ApiError(413, `the body is larger than ${maxBytes} bytes`, { headers: { connection: 'close' } })
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
    const parts: Buffer[] = []
    let size = 0
    for await (const part of this.request) {
      size += (part as Buffer).length
      if (size > maxBytes) throw tooLarge()
      parts.push(part as Buffer)
    }
    let value: unknown
    try {
      value = JSON.parse(Buffer.concat(parts).toString('utf8'))
    } catch (error) {
      throw malformed(`JSON decode error: ${(error as Error).message}`, 'body')
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw malformed('Input should be a valid dictionary', 'body')
    this.body = value as Record<string, unknown>
  }
}
