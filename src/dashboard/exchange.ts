/** One request and its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RequestError } from './errors.js'

/** Nothing but the page's own files runs or is asked for: what a sample contains is text, whatever it contains. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Bytes of a body; acts and chats are short. */
const maxBody = 1 << 20

export class Exchange {
  readonly query: URLSearchParams

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    /** The named parts of the path. */
    readonly parts: Readonly<Record<string, string>>,
    query: string,
  ) {
    this.query = new URLSearchParams(query)
  }

  /** A number of the query; undefined where it is not there. */
  number(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const text = this.query.get(name)
    if (text === null || text === '') return undefined
    const value = Number(text)
    if (!Number.isFinite(value) || value < min || value > max)
      throw new RequestError(
        400,
        `${name}: expected a number from ${min} to ${max}, got ${JSON.stringify(text.slice(0, 40))}`,
      )
    return value
  }

  /** The body as JSON. Only `application/json`, which no form of another site can send. */
  async body(): Promise<unknown> {
    const { headers } = this.request
    if (!/^application\/json\b/i.test(headers['content-type'] ?? ''))
      throw new RequestError(415, 'the Content-Type must be application/json')
    const parts: Buffer[] = []
    let size = 0
    for await (const part of this.request as AsyncIterable<Buffer>) {
      size += part.length
      if (size > maxBody) throw new RequestError(413, `the body is larger than ${maxBody} bytes`)
      parts.push(part)
    }
    try {
      return JSON.parse(Buffer.concat(parts).toString()) as unknown
    } catch (cause) {
      throw new RequestError(400, 'the body is not JSON', { cause })
    }
  }

  json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.bytes(status, Buffer.from(JSON.stringify(value)), {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...headers,
    })
  }

  bytes(status: number, body: Uint8Array, headers: Readonly<Record<string, string>>): void {
    const { request, response } = this
    if (response.headersSent || response.destroyed) return
    response.writeHead(status, { ...securityHeaders, ...headers, 'content-length': body.length })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}
