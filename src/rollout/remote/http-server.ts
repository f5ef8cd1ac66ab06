/**
 * One server behind HTTP: connections that are kept and reused, a deadline on every exchange, bounded answers. undici's own
 * timeouts are off: they end long generations after five minutes.
 */
import { Pool } from 'undici'
import { redactor, type ServerUrl, shownUrl } from '../../http/index.js'
import type { ServerConnection } from './dialect.js'
import { ProtocolError, TransportError } from './errors.js'
import { type ReadingSlot, readingSlot } from './reading-slots.js'

export interface HttpServerOptions {
  readonly address: ServerUrl
  readonly apiKey: string | undefined
  /** Generations at once; control calls come on top. */
  readonly maxInFlight: number
  readonly controlTimeoutMs: number
}

/** Larger answers are refused. */
const maxAnswerBytes = 256 << 20
/** Servers close idle connections after 5 seconds; one that is closed while we send is an error we need not have. */
const keepAliveTimeout = 4000
const spareConnections = 8
const nothing = (): void => {}

export interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Empty where pieces were wanted, and came. */
  readonly text: string
  /** Of an answer that was read in turn: it has been used, and the next may be read. */
  readonly release: () => void
}

export interface Exchange {
  readonly reply: Promise<Reply>
  /** Ends the connection, by which servers notice. */
  cancel(): void
}

export interface ExchangeOptions {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly timeoutMs: number
  /** `in turn`: it is not read while many others wait to be; for answers that are large. */
  readonly reads?: 'in turn'
  /** Takes the body of a 200 piece by piece. */
  readonly onPiece?: (piece: Buffer) => void
}

export class HttpServer implements ServerConnection {
  readonly url: string
  readonly sendsKey: boolean
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string
  private readonly pool: Pool
  private readonly prefix: string
  private readonly query: string
  private readonly headers: Readonly<Record<string, string>>

  constructor(private readonly options: HttpServerOptions) {
    const { address, apiKey, maxInFlight } = options
    const { url, authorization, secrets } = address
    this.url = shownUrl(url)
    this.hide = redactor([apiKey, ...secrets])
    this.prefix = url.pathname.replace(/\/$/, '')
    this.query = url.search
    const auth = apiKey === undefined ? authorization : `Bearer ${apiKey}`
    this.sendsKey = auth !== undefined
    this.headers = { 'content-type': 'application/json', ...(auth === undefined ? {} : { authorization: auth }) }
    this.pool = new Pool(url.origin, {
      connections: maxInFlight + spareConnections,
      pipelining: 1,
      keepAliveTimeout,
      keepAliveMaxTimeout: keepAliveTimeout,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  async request(
    method: 'GET' | 'POST',
    path: string,
    { body, timeoutMs = this.options.controlTimeoutMs, signal }: Parameters<ServerConnection['request']>[2] = {},
  ): Promise<{ status: number; text: string }> {
    const sent = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
    const exchange = this.exchange({ method, path, timeoutMs, ...sent })
    signal?.addEventListener('abort', exchange.cancel)
    try {
      const { status, text } = await exchange.reply
      return { status, text: this.hide(text) }
    } finally {
      signal?.removeEventListener('abort', exchange.cancel)
    }
  }

  /** Without promises but one: a rollout makes very many of these. */
  exchange({ method, path, body, timeoutMs, reads, onPiece }: ExchangeOptions): Exchange {
    let cancel: Exchange['cancel'] = () => {}
    const reply = new Promise<Reply>((resolve, reject) => {
      let controller: { abort(reason: Error): void } | undefined
      let isSettled = false
      let status = 0
      let retryAfter: string | undefined
      let bytes = 0
      const pieces: Buffer[] = []
      let slot: ReadingSlot | undefined
      const settle = (): boolean => {
        if (isSettled) return false
        isSettled = true
        clearTimeout(timer)
        return true
      }
      const fail = (error: Error): void => {
        if (!settle()) return
        slot?.release()
        reject(error)
        controller?.abort(error)
      }
      const timer = setTimeout(
        () => fail(new TransportError('timeout', `${this.url}${path}: no answer within ${timeoutMs / 1000} s`)),
        timeoutMs,
      )
      cancel = () => fail(new TransportError('cancelled', `${this.url}${path}: cancelled`))
      this.pool.dispatch(
        {
          method,
          path:
            this.prefix + path + (this.query === '' ? '' : path.includes('?') ? `&${this.query.slice(1)}` : this.query),
          headers: this.headers,
          body: body ?? null,
        },
        {
          onRequestStart: started => {
            if (isSettled) started.abort(new Error('settled'))
            else controller = started
          },
          onResponseStart: (answering, code, headers) => {
            status = code
            if (reads) slot = readingSlot(() => answering.resume())
            if (slot?.waits) answering.pause()
            const header = headers['retry-after']
            retryAfter = Array.isArray(header) ? header[0] : header
          },
          onResponseData: (_, piece) => {
            bytes += piece.length
            if (bytes > maxAnswerBytes)
              fail(new ProtocolError(`${this.url}${path}: an answer of more than ${maxAnswerBytes} bytes`))
            else if (onPiece && status === 200) {
              try {
                onPiece(piece)
              } catch (error) {
                fail(error as Error)
              }
            } else pieces.push(piece)
          },
          onResponseEnd: () => {
            if (!settle()) return
            const text =
              pieces.length === 1 ? pieces[0]!.toString('utf8') : Buffer.concat(pieces, bytes).toString('utf8')
            // The connection keeps this handler until its next request.
            pieces.length = 0
            resolve({ status, retryAfter, text, release: slot?.release ?? nothing })
          },
          onResponseError: (_, error) => fail(this.broken(path, error)),
        },
      )
    })
    return { reply, cancel }
  }

  close(): Promise<void> {
    return this.pool.destroy()
  }

  private broken(path: string, error: unknown): TransportError {
    const { code, message } = error as { code?: unknown; message?: unknown }
    const cause = String(code ?? '')
    const certificate = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|SSL/.test(cause)
    const shown = this.hide(String(message ?? error))
    return new TransportError('unreachable', `${this.url}${path}: ${shown}${cause === '' ? '' : ` (${cause})`}`, {
      ...(certificate ? { remedy: 'Name its certificate authority in NODE_EXTRA_CA_CERTS.' } : {}),
    })
  }
}
