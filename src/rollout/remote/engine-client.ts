/**
 * HTTP client of one engine server: keeps connections, has a deadline for every request, bounds the size of answers. undici's own
 * timeouts are off: they end long generations after five minutes.
 */
import { Pool } from 'undici'
import { redactor, type ServerUrl, shownUrl } from '../../http/index.js'
import type { ServerConnection } from './dialect.js'
import { ProtocolError, TransportError } from './errors.js'

interface EngineClientOptions {
  readonly address: ServerUrl
  readonly apiKey: string | undefined
  /** Concurrent generations; control calls are not counted. */
  readonly maxInFlight: number
  readonly controlTimeoutMs: number
}

/** Larger answers are refused. */
const maxAnswerBytes = 256 << 20
/** Below the 5 seconds after which servers close idle connections: sending on a connection that closes is an error. */
const keepAliveTimeout = 4000
const spareConnections = 8
const nothing = (): void => {}

export interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Empty where `onPiece` took the body. */
  readonly text: string
  /** Call after an answer that was read `in turn` was used: the next one may be read. */
  readonly release: () => void
}

export interface Exchange {
  readonly reply: Promise<Reply>
  /** Closes the connection; the server notices. */
  cancel(): void
}

interface ExchangeOptions {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly timeoutMs: number
  /** `in turn`: waits while many other answers are being read. For large answers. */
  readonly reads?: 'in turn'
  /** Takes the body of a 200 piece by piece. */
  readonly onPiece?: (piece: Buffer) => void
}

export class EngineClient implements ServerConnection {
  readonly url: string
  readonly sendsKey: boolean
  /** Removes secrets from a text. */
  readonly hide: (text: string) => string
  private readonly pool: Pool
  private readonly prefix: string
  private readonly query: string
  private readonly headers: Readonly<Record<string, string>>

  constructor(private readonly options: EngineClientOptions) {
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

  /** Makes only one promise: a rollout sends very many requests. */
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
              fail(new ProtocolError(`${this.url}${path}: the answer has more than ${maxAnswerBytes} bytes`))
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
            // Frees the memory: the connection keeps this handler until its next request.
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
      ...(certificate ? { remedy: 'Set NODE_EXTRA_CA_CERTS to the certificate of its authority.' } : {}),
    })
  }
}

/**
 * Answers in memory at the same time; the others wait in the network. Without this limit memory grows with the number of requests in
 * flight, and so does the time of the garbage collector.
 */
const mostAtOnce = 48
/** A server that stops in the middle of an answer delays others no longer than this. */
const longestWaitMs = 500

interface ReadingSlot {
  /** The answer may not be read yet; `begin` is called when it may. */
  readonly waits: boolean
  /** The answer was used, or will never be read. */
  release(): void
}

type Begin = () => void

let taken = 0
const waiting = new Set<Begin>()

export function readingSlot(begin: Begin): ReadingSlot {
  let isOver = false
  const waits = taken >= mostAtOnce
  let hasSlot = !waits
  const go = (): void => {
    clearTimeout(timer)
    waiting.delete(go)
    if (isOver || hasSlot) return
    hasSlot = true
    taken++
    begin()
  }
  const timer = waits ? setTimeout(go, longestWaitMs) : undefined
  if (waits) waiting.add(go)
  else taken++
  return {
    waits,
    release: () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      waiting.delete(go)
      if (!hasSlot) return
      taken--
      for (const next of waiting) {
        if (taken >= mostAtOnce) break
        next()
      }
    },
  }
}
