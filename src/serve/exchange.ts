/** The arguments of a route: the served model, and one request with its answer. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PolicyVersion } from '../model/index.js'
import type { GenerationDefaults } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import type { Ticket } from './admission.js'
import type { EncodeQueue } from './encode-queue.js'
import { unknownModel } from './errors.js'
import type { LogprobsMode } from './logprobs-mode.js'
import type { RequestMedia } from './request-media.js'
import type { JsonObject } from './request-shape.js'
import { costOf, type Generation, type Limits, type Runner } from './run-request.js'
import type { TokenTexts } from './token-text.js'
import type { WeightSet } from './weight-turns.js'
import { type WriteOptions, writeJson } from './write-json.js'

export interface Served extends Runner {
  /** The model's name in requests and answers. */
  name: string
  /** Sets of weights by their names in requests: the model, and the loaded adapters. */
  sets: ReadonlyMap<string, WeightSet>
  /** The clients' name of a version of the weights. */
  versionName: (version: PolicyVersion) => string
  tokenizer: Tokenizer | undefined
  /** Undefined without a tokenizer. */
  encoder: EncodeQueue | undefined
  texts: TokenTexts
  /** Undefined where the model reads text alone. */
  media: RequestMedia | undefined
  logprobsMode: LogprobsMode
  limits: Limits
  /** Of requests to OpenAI's routes. */
  defaults: GenerationDefaults
  started: number
}

/** The weights of a name; without a name, the model's own. */
export function weightsOf({ name, sets }: Served, asked: string | undefined): WeightSet {
  const found = sets.get(asked ?? name)
  if (!found) throw unknownModel(asked ?? name)
  return found
}

interface ExchangeOptions {
  stallMs: number
  ticket: Ticket
}

export class Exchange implements WriteOptions {
  readonly created = Math.floor(Date.now() / 1000)
  body: JsonObject = {}
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  readonly stallMs: number
  private readonly ticket: Ticket

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    { stallMs, ticket }: ExchangeOptions,
  ) {
    this.stallMs = stallMs
    this.ticket = ticket
    const gone = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    this.signal = gone.signal
  }

  get query(): URLSearchParams {
    return new URLSearchParams((this.request.url ?? '').split('?')[1] ?? '')
  }

  /** The request's id: the client's, or a new one. */
  id(given: string | undefined): string {
    const header = this.request.headers['x-request-id']
    return given ?? (typeof header === 'string' ? header : randomUUID().replaceAll('-', ''))
  }

  /** Reserves the memory of the request, or throws. It is released when the answer was sent. */
  admit(request: Generation, { maxLength }: Limits): void {
    this.ticket.admit(costOf(request, maxLength))
  }

  /** Reserves memory for pixels, or throws. It is released when the answer was sent. */
  reserve(bytes: number): void {
    this.ticket.hold(bytes)
  }

  /** Sends a value that may hold lazy lists. */
  answer(value: object): Promise<void> {
    return writeJson(this.response, value, this)
  }

  json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
    this.text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
  }

  text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
    if (this.response.headersSent || this.response.destroyed) return
    this.response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers })
    this.response.end(body)
  }
}
