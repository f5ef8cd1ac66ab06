import { createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Transfer } from '../progress/index.js'
import { errorCode } from './errors.js'

/** The server could not be reached, would not give the file, or kept cutting it off. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
}

export interface DownloadOptions {
  url: string
  /** The finished file. Until then the bytes are in `<to>.part`, which a later attempt, or a later run, continues. */
  to: string
  transfer: Transfer
  signal: AbortSignal
  connectTimeoutMs?: number
  idleTimeoutMs?: number
  /** Connections that may fail one after the other without a byte gained. */
  attempts?: number
}

/** What a `.part` file is a part of; a server whose file has changed since sends the whole of it again. */
interface PartNote {
  url: string
  validator: string
}

/**
 * Downloads a file over HTTP. A lost connection is resumed; an unreachable server is given up at once, because there is another
 * source.
 */
export async function download(options: DownloadOptions): Promise<void> {
  const { to, signal, attempts = 4 } = options
  const part = `${to}.part`
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
      if (!error.reached || failures >= attempts) throw new DownloadError(error.message, { cause: error })
      await sleep(200 * (failures + 1), undefined, { signal })
    }
  }
}

class LostConnection extends Error {
  constructor(
    message: string,
    /** Whether this server ever answered for this file. */
    readonly reached: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

async function receive(options: DownloadOptions, part: string, before: number): Promise<void> {
  const { url, transfer, signal } = options
  const note = before > 0 ? await readNote(part) : undefined
  const from = note?.url === url ? before : 0
  const response = await request(options, url, {
    // Without this a server may compress, and lengths and ranges would mean something else.
    'accept-encoding': 'identity',
    ...(from > 0 && note && { range: `bytes=${from}-`, 'if-range': note.validator }),
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
    throw new DownloadError(`${new URL(url).host} answered ${statusCode} for ${url}`)
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  const total = resumed ? Number(range?.[2]) : length
  if (!resumed) {
    await rm(part, { force: true })
    const validator = headers.etag?.startsWith('"') ? headers.etag : headers['last-modified']
    // A server that gives nothing to recognise the file by cannot be resumed safely.
    if (validator) await writeFile(`${part}.json`, JSON.stringify({ url, validator } satisfies PartNote))
    else await rm(`${part}.json`, { force: true })
  }
  let received = resumed ? from : 0
  const count = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      received += chunk.length
      transfer.at(received, total)
      yield chunk
    }
  }
  try {
    await pipeline(response, count, createWriteStream(part, { flags: resumed ? 'a' : 'w' }), { signal })
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

async function request(
  options: DownloadOptions,
  url: string,
  headers: http.OutgoingHttpHeaders,
  redirects = 5,
): Promise<http.IncomingMessage> {
  const { connectTimeoutMs = 5_000, idleTimeoutMs = 30_000, signal } = options
  const target = new URL(url)
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
  if (redirects === 0) throw new DownloadError(`${url} redirects without end`)
  return request(options, new URL(response.headers.location, target).href, headers, redirects - 1)
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
