/** Reward models behind HTTP. */
import { Agent, type Dispatcher, request } from 'undici'
import { didYouMean } from '../../errors/index.js'
import {
  isApiKey,
  parseRetryAfter,
  parseServerUrl,
  redactor,
  type ServerUrl,
  shownUrl,
  tlsProblem,
} from '../../http/index.js'
import { RewardConfigError, SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'
import { refuseMedia } from '../media.js'
import { defaultLimits, type LimitOptions, type RewardSource, resolveLimits } from '../source.js'
import { type Dialect, type DialectName, dialectNames, dialects, oneAtATime, type SentAs } from './dialects.js'
import { Replicas } from './replicas.js'

/** Certificates for a server without a publicly trusted certificate, or one that needs a client certificate. */
export interface TlsOptions {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

export interface HttpRewardOptions extends LimitOptions {
  readonly name: string
  /** One server, or several equal ones that share the requests. */
  readonly url: string | readonly string[]
  /** The server's protocol. Default `lightrft`. */
  readonly dialect?: DialectName
  /** The model's name on the server; vLLM and SGLang may need it. */
  readonly model?: string
  /** What is sent of a sample to vLLM and SGLang. Default `text`: the query with special tokens. */
  readonly send?: SentAs
  /** Images and videos of samples. `omit`: the server judges the text alone. Default `send`; a dialect that cannot is a failure. */
  readonly media?: 'send' | 'omit'
  /** For `sglang-score`: token ids that an answer may begin with, the good one first. */
  readonly labelTokenIds?: readonly number[]
  /** Sent as `authorization: Bearer`. Never shown. */
  readonly apiKey?: string
  /** Their values are never shown. */
  readonly headers?: Readonly<Record<string, string>>
  readonly tls?: TlsOptions
  /** Larger answers are refused. Default 64 MiB. */
  readonly maxAnswerBytes?: number
}

/**
 * A reward model behind HTTP as a source.
 *
 * @example
 * const quality = httpReward({ name: 'quality', url: ['http://rm-0:8000', 'http://rm-1:8000'], dialect: 'vllm-classify', model: 'rm' })
 */
export function httpReward(options: HttpRewardOptions): RewardSource {
  const { name, dialect: dialectName = 'lightrft', model, maxAnswerBytes = 64 << 20, tls } = options
  const dialect: Dialect | undefined = dialects[dialectName]
  if (!dialect)
    throw new RewardConfigError(
      `reward "${name}": there is no dialect "${dialectName}"${didYouMean(dialectName, dialectNames)} (there are: ${dialectNames.join(', ')})`,
    )
  const { send = 'text' } = options
  if (!dialect.sends.includes(send))
    throw new RewardConfigError(`reward "${name}": ${dialectName} takes ${dialect.sends.join(' or ')}, not ${send}`)
  const { labelTokenIds } = options
  if ((dialectName === 'sglang-score') !== (labelTokenIds !== undefined && labelTokenIds.length > 0))
    throw new RewardConfigError(`reward "${name}": sglang-score needs labelTokenIds, and no other dialect takes them`)
  const { media = 'send' } = options
  const sendsMedia =
    media === 'omit' || dialect.media === 'sent' || (dialect.media === 'in messages' && send === 'messages')
  const urls = (typeof options.url === 'string' ? [options.url] : options.url).map(url => parseUrl(name, url, dialect))
  if (urls.length === 0) throw new RewardConfigError(`reward "${name}": url is an empty list`)
  const single = oneAtATime(dialectName, send) ? { batchSize: 1 } : {}
  const limits = resolveLimits(name, defaultLimits.remote, { ...options, ...single })

  const { apiKey, headers = {} } = options
  checkApiKey(name, apiKey)
  const hide = redactor([apiKey, ...Object.values(headers), ...urls.flatMap(({ secrets }) => secrets)])
  const connections = Number.isFinite(limits.concurrency) ? limits.concurrency : null
  const dispatcher = new Agent({ connections, connect: { ...tls } })
  const replicas = new Replicas(urls)

  return {
    name,
    kind: 'remote',
    limits,
    async score(inputs, { signal }) {
      if (!sendsMedia) refuseMedia(inputs, cannotSend(dialectName, dialect))
      const sent = media === 'omit' ? inputs.map(withoutMedia) : inputs
      const body = JSON.stringify(await dialect.body(sent, { model, send, labelTokenIds }))
      const ask = async ({ url, authorization }: ServerUrl) => {
        const auth = apiKey === undefined ? authorization : `Bearer ${apiKey}`
        const answer = await post(url, {
          body,
          headers: { ...headers, ...(auth === undefined ? {} : { authorization: auth }) },
          dispatcher,
          signal,
          maxAnswerBytes,
          hide,
        })
        return dialect.read(answer, inputs.length)
      }
      try {
        return await replicas.use(ask, serversFault)
      } catch (error) {
        throw elsewhere(error, replicas, urls.length)
      }
    },
    close: () => dispatcher.destroy(),
  }
}

/** Any failure except a bad request: another replica may succeed. */
export function serversFault(error: unknown): boolean {
  return !(error instanceof SourceError) || !['input', 'refused', 'aborted'].includes(error.reason)
}

/** Retry a failure on another replica, at once if one is available. */
export function elsewhere(error: unknown, replicas: Replicas<unknown>, count: number): unknown {
  if (!(error instanceof SourceError) || count === 1 || !serversFault(error)) return error
  const retryAfterMs = replicas.anyUp ? 0 : error.retryAfterMs
  return new SourceError(error.reason, error.message, { repeat: 'retryable', retryAfterMs, cause: error.cause })
}

function cannotSend(name: DialectName, { media }: Dialect): string {
  const how = media === 'none' ? 'use the dialect lightrft' : 'set send to messages'
  return `the sample has images or videos, and ${name} does not send them so; ${how}, or set media to omit to judge the text alone`
}

const withoutMedia = ({ images: _, videos: __, audios: ___, ...input }: RewardInput): RewardInput => input

/** Refuses a key that a header cannot hold: a library would show the key in its error. */
export function checkApiKey(name: string, apiKey: string | undefined): void {
  if (apiKey !== undefined && !isApiKey(apiKey))
    throw new RewardConfigError(
      `reward "${name}": the API key is empty or has spaces, line ends or other characters that no header can hold`,
    )
}

function parseUrl(name: string, text: string, dialect: Dialect): ServerUrl {
  const parsed = parseServerUrl(text)
  if (!parsed) throw new RewardConfigError(`reward "${name}": url: expected http:// or https:// and a host`)
  if (parsed.url.pathname === '/') parsed.url.pathname = dialect.path
  return parsed
}

interface Post {
  body: string
  headers: Record<string, string>
  dispatcher: Dispatcher
  signal: AbortSignal
  maxAnswerBytes: number
  hide: (text: string) => string
}

async function post(url: URL, { body, headers, dispatcher, signal, maxAnswerBytes, hide }: Post): Promise<unknown> {
  const where = shownUrl(url)
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body,
      dispatcher,
      signal,
      // The caller's signal limits the time.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const text = await readBody(response.body, maxAnswerBytes, where)
    if (response.statusCode < 200 || response.statusCode > 299)
      throw statusError(where, response.statusCode, response.headers, hide(text))
    return parseAnswer(text, where, String(response.headers['content-type'] ?? 'no content type'))
  } catch (error) {
    throw error instanceof SourceError ? error : transportError(where, error, hide)
  }
}

async function readBody(body: AsyncIterable<Buffer>, maxBytes: number, where: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new SourceError('protocol', `${where}: an answer of more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new SourceError('protocol', `${where}: the answer is not UTF-8`, { repeat: 'retryable', cause })
  }
}

/** Python writes NaN and Infinity, which JSON cannot represent; the other numbers are still good. */
function withoutNaN(text: string): string {
  const strings = text.split(/("(?:[^"\\]|\\.)*")/)
  return strings.map((part, i) => (i % 2 === 1 ? part : part.replace(/-?\b(?:NaN|Infinity)\b/g, 'null'))).join('')
}

function parseAnswer(text: string, where: string, contentType: string): unknown {
  try {
    return JSON.parse(/NaN|Infinity/.test(text) ? withoutNaN(text) : text)
  } catch (cause) {
    const message = `${where}: the answer is not JSON (${contentType}, ${text.length} characters)`
    throw new SourceError('protocol', message, { repeat: 'retryable', cause })
  }
}

/** What an error status means for the samples of the request. */
function statusError(
  where: string,
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
): SourceError {
  const said = body.trim() === '' ? '' : `: ${body.trim().replace(/\s+/g, ' ').slice(0, 200)}`
  const message = `${where} answered ${status}${said}`
  const retryAfterMs = parseRetryAfter(headers['retry-after'])
  if (status === 429) return new SourceError('overloaded', message, { repeat: 'retryable', retryAfterMs })
  if (status >= 500 || status === 408)
    return new SourceError('server-error', message, { repeat: 'retryable', retryAfterMs })
  if (status === 401 || status === 403)
    return new SourceError('refused', `${message}. Check the API key (apiKey, or apiKeyEnv in a file).`)
  if (status === 404 || status === 405)
    return new SourceError('refused', `${message}. Check the URL's path and the dialect.`)
  if (status < 400) return new SourceError('protocol', `${message}; redirects are not followed`)
  return new SourceError('refused', message)
}

/** A connection that could not be made, or broke. It can be retried, unless the certificate is the problem. */
function transportError(where: string, error: unknown, hide: (text: string) => string): SourceError {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const shown = hide(String(message ?? error))
  const cause = String(code ?? '')
  const shownCause = cause === '' ? '' : ` (${cause})`
  const problem = tlsProblem(cause, shown)
  if (problem) return new SourceError('unreachable', `${where}: ${problem.what}${shownCause}. ${problem.remedy}`)
  const hint = /^HPE_/.test(cause) ? '. The answer is not HTTP: if the server speaks TLS, use https://.' : ''
  return new SourceError('unreachable', `${where}: ${shown}${shown.includes(cause) ? '' : shownCause}${hint}`, {
    repeat: 'retryable',
  })
}
