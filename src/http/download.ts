/** Files over HTTP, in as many connections as it takes. */
import { type FileHandle, open, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseRetryAfter } from './client.js'

/** The server could not be reached, would not give the file, or kept cutting it off. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
  /** What the server answered; undefined where it did not answer. */
  readonly answer: { readonly status: number; readonly headers: http.IncomingHttpHeaders } | undefined

  constructor(message: string, options: ErrorOptions & { answer?: DownloadError['answer'] } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.answer = options.answer
  }
}

export interface DownloadOptions {
  url: string
  /** The finished file. */
  to: string
  /** Holds the bytes until then; a later attempt, or a later run, continues it. Default: `<to>.part`. */
  part?: string
  /**
   * `fixed`: the bytes at this URL never change, so that any part of them can be continued. Default: a part is continued where
   * the server says that the file is the same.
   */
  content?: 'fixed'
  /** For the host of `url` alone: a redirect to another host does not get them. */
  headers?: Readonly<Record<string, string>>
  onBytes?: (received: number, total: number | undefined) => void
  signal: AbortSignal
  connectTimeoutMs?: number
  idleTimeoutMs?: number
  /** Connections that may fail one after the other without a byte gained. Default 4. */
  attempts?: number
  /** The wait before the first new attempt; it doubles with every failure. Default 200. */
  waitMs?: number
  /** A server that cannot be reached: tried again, or given up at once (default) because there is another source. */
  unreachable?: 'retry' | 'give up'
}

const longestWaitMs = 30_000
/** A server that is busy or restarts; it may answer later. */
const busy = [408, 425, 429, 500, 502, 503, 504]

/** What a `.part` file is a part of; a server whose file has changed since sends the whole of it again. */
interface PartNote {
  url: string
  validator: string
}

/** Downloads a file over HTTP. A lost connection is resumed where it broke. */
export async function download(options: DownloadOptions): Promise<void> {
  const { to, part = `${to}.part`, signal, attempts = 4, waitMs = 200, unreachable = 'give up' } = options
  let failures = 0
  for (;;) {
    const before = await sizeOf(part)
    try {
      await receive(options, part, before)
      await rename(part, to)
      await rm(`${part}.json`, { force: true })
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof LostConnection)) throw error
      const gained = (await sizeOf(part)) > before
      failures = gained ? 0 : failures + 1
      if ((!error.reached && unreachable === 'give up') || failures >= attempts)
        throw new DownloadError(error.message, { cause: error })
      const wait = error.retryAfterMs ?? waitMs * 2 ** failures
      await sleep(Math.min(wait, longestWaitMs), undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

class LostConnection extends Error {
  constructor(
    message: string,
    /** Whether this server ever answered for this file. */
    readonly reached: boolean,
    options: ErrorOptions & { retryAfterMs?: number | undefined } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.retryAfterMs = options.retryAfterMs
  }

  /** What the server asked for. */
  readonly retryAfterMs: number | undefined
}

async function receive(options: DownloadOptions, part: string, before: number): Promise<void> {
  const { url, content, onBytes } = options
  const note = before > 0 && content !== 'fixed' ? await readNote(part) : undefined
  const from = content === 'fixed' || note?.url === url ? before : 0
  const response = await request(options, url, {
    // Without this a server may compress, and lengths and ranges would mean something else.
    'accept-encoding': 'identity',
    ...(from > 0 && { range: `bytes=${from}-`, ...(note && { 'if-range': note.validator }) }),
  }).catch(error => {
    throw error instanceof LostConnection && before > 0
      ? new LostConnection(error.message, true, { cause: error })
      : error
  })

  const { statusCode = 0, headers } = response
  const range = headers['content-range']?.match(/^bytes (\d+)-\d+\/(\d+)$/)
  const resumed = statusCode === 206 && range !== undefined && Number(range?.[1]) === from
  if (statusCode !== 200 && !resumed) {
    response.destroy()
    if (statusCode === 416 || statusCode === 206) {
      await rm(part, { force: true })
      throw new LostConnection('the server does not have the rest of a partial download', true)
    }
    const message = `${new URL(url).host} answered ${statusCode} for ${url}`
    if (busy.includes(statusCode))
      throw new LostConnection(message, true, { retryAfterMs: parseRetryAfter(headers['retry-after']) })
    throw new DownloadError(message, { answer: { status: statusCode, headers } })
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  const total = resumed ? Number(range?.[2]) : length
  const prepare = async (): Promise<FileHandle> => {
    if (resumed) return open(part, 'a')
    await rm(part, { force: true })
    if (content !== 'fixed') await writeNote(part, url, headers)
    return open(part, 'w')
  }
  let received = resumed ? from : 0
  try {
    await save(response, prepare(), bytes => {
      received += bytes
      onBytes?.(received, total)
    })
  } catch (error) {
    if (['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS'].includes(errorCode(error) ?? '')) throw error
    throw new LostConnection(`the connection was lost after ${received} bytes`, true, { cause: error })
  }
  if (total !== undefined && received < total)
    throw new LostConnection(`the connection was lost after ${received} of ${total} bytes`, true)
  if (total !== undefined && received > total) {
    await truncate(part, 0)
    throw new DownloadError(`${url} sent ${received} bytes where ${total} were announced`)
  }
}

/** Bytes that wait for the disk before the server is slowed down. */
const mostWaiting = 1 << 20

/** Writes what comes. Bytes that came before the connection broke, or before a stop, are written too. */
async function save(
  response: http.IncomingMessage,
  opening: Promise<FileHandle>,
  wrote: (bytes: number) => void,
): Promise<void> {
  let waiting = 0
  let writing: Promise<unknown> = opening
  const orEnd = (error: Error): unknown => response.destroy(error)
  writing.catch(orEnd)
  response.on('data', (chunk: Buffer) => {
    waiting += chunk.length
    if (waiting > mostWaiting) response.pause()
    writing = writing.then(async () => {
      await (await opening).writeFile(chunk)
      waiting -= chunk.length
      wrote(chunk.length)
      if (waiting <= mostWaiting) response.resume()
    })
    writing.catch(orEnd)
  })
  const arrived = await finished(response).catch((error: unknown) => ({ error }))
  try {
    await writing
  } finally {
    await opening.then(
      file => file.close(),
      () => {},
    )
  }
  if (arrived) throw arrived.error
}

async function request(
  options: DownloadOptions,
  url: string,
  ranges: http.OutgoingHttpHeaders,
  redirects = 5,
): Promise<http.IncomingMessage> {
  const { connectTimeoutMs = 5_000, idleTimeoutMs = 30_000, signal } = options
  const target = new URL(url)
  // Tokens are for one host.
  const headers = target.origin === new URL(options.url).origin ? { ...options.headers, ...ranges } : ranges
  const secure = target.protocol === 'https:'
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const sent = (secure ? https : http).get(target, { headers, signal, agent: false })
    const give = (why: string) => sent.destroy(new Error(why))
    const connecting = setTimeout(() => give(`no connection within ${connectTimeoutMs / 1000} s`), connectTimeoutMs)
    sent.on('socket', socket => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting)))
    sent.setTimeout(idleTimeoutMs, () => give(`nothing received for ${idleTimeoutMs / 1000} s`))
    sent.on('response', resolve)
    sent.on('close', () => clearTimeout(connecting))
    sent.on('error', error =>
      reject(
        new LostConnection(`${target.host} cannot be reached (${errorCode(error) ?? error.message})`, false, {
          cause: error,
        }),
      ),
    )
  })
  const { statusCode = 0 } = response
  if (statusCode < 300 || statusCode >= 400 || !response.headers.location) return response
  response.destroy()
  if (redirects === 0) throw new DownloadError(`${options.url} redirects without end`)
  return request(options, new URL(response.headers.location, target).href, ranges, redirects - 1)
}

async function writeNote(part: string, url: string, headers: http.IncomingHttpHeaders): Promise<void> {
  const validator = headers.etag?.startsWith('"') ? headers.etag : headers['last-modified']
  // A server that gives nothing to recognise the file by cannot be resumed safely.
  if (validator) await writeFile(`${part}.json`, JSON.stringify({ url, validator } satisfies PartNote))
  else await rm(`${part}.json`, { force: true })
}

async function readNote(part: string): Promise<PartNote | undefined> {
  try {
    return JSON.parse(await readFile(`${part}.json`, 'utf8')) as PartNote
  } catch {
    return undefined
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

/** The system's short name for an error (`ENOSPC`, `ENOTFOUND`, ...), where it has one. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}
