/** Reads the body of a request. Bodies have a minimum speed and a common memory limit: a slow connection costs only its socket. */
import type { IncomingMessage } from 'node:http'
import { ApiError, malformed } from './errors.js'
import type { JsonObject } from './request-shape.js'

export interface BodyLimits {
  /** Of one body. */
  maxBytes: number
  /** Time before the speed is checked. */
  graceMs: number
  /** Average from then on. */
  minBytesPerSecond: number
}

export interface BodyAccount {
  /** Reserves memory; throws where all bodies together have too much. */
  take(bytes: number): void
}

/** Deep enough for the schema of any tool, but not for a stack overflow. */
const shape = { depth: 64, containers: 200_000 }

const closing = { headers: { connection: 'close' } }

/** A body that is larger by at most this factor is read and dropped: a client that still sends would see a broken connection, no answer. */
const droppedFactor = 8

/** The bytes of the body, checked as they arrive. A body that is far too large or too slow is not read to its end. */
export async function readBody(request: IncomingMessage, limits: BodyLimits, account: BodyAccount): Promise<Buffer> {
  const { headers } = request
  if (!/^application\/json\b/i.test(headers['content-type'] ?? ''))
    throw malformed('the Content-Type must be application/json')
  const { maxBytes } = limits
  const tooLarge = (): ApiError => new ApiError(413, `the body is larger than ${maxBytes} bytes`, closing)
  const announced = Number(headers['content-length'] ?? 0)
  if (announced > droppedFactor * maxBytes) throw tooLarge()
  const scan = new JsonScan(shape)
  const parts: Buffer[] = []
  let size = 0
  let refused: unknown = announced > maxBytes ? tooLarge() : undefined
  const take = (part: Buffer): void => {
    size += part.length
    if (size > droppedFactor * maxBytes) throw tooLarge()
    if (refused) return
    try {
      if (size > maxBytes) throw tooLarge()
      const wrong = scan.push(part)
      if (wrong !== undefined) throw malformed(`the body is refused: ${wrong}`, 'body')
      account.take(part.length)
      parts.push(part)
    } catch (error) {
      // Reads and drops the rest, so that the client, which is still sending, gets the answer.
      refused = error
      parts.length = 0
    }
  }
  await arrival(request, take, ms => {
    const counted = ms - limits.graceMs
    if (counted <= 0 || size >= (counted / 1000) * limits.minBytesPerSecond) return
    const rate = `at least ${limits.minBytesPerSecond} in a second have to`
    throw new ApiError(408, `${size} bytes of the body came in ${Math.round(ms)} ms; ${rate}`, closing)
  })
  if (refused) throw refused
  return Buffer.concat(parts, size)
}

/** Resolves when the whole body has arrived. Errors of `take` and `watch` end the reading. */
function arrival(
  request: IncomingMessage,
  take: (part: Buffer) => void,
  watch: (elapsedMs: number) => void,
): Promise<void> {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearInterval(timer)
      request.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose)
    }
    const fail = (error: unknown): void => {
      stop()
      request.pause()
      reject(error)
    }
    const onEnd = (): void => {
      stop()
      resolve()
    }
    const onClose = (): void => fail(new Error('the client has gone'))
    const attempt = (work: () => void): void => {
      try {
        work()
      } catch (error) {
        fail(error)
      }
    }
    const onData = (part: Buffer): void => attempt(() => take(part))
    const timer = setInterval(() => attempt(() => watch(performance.now() - started)), 100)
    request.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose)
  })
}

/** Parses a body, which must be an object. */
export function parseBody(bytes: Buffer): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const what = error instanceof SyntaxError ? error.message : 'the body is not UTF-8'
    throw malformed(`JSON decode error: ${what}`, 'body')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('Input should be a valid dictionary', 'body')
  return value as JsonObject
}

interface JsonLimits {
  depth: number
  /** Objects and lists together. */
  containers: number
}

/**
 * Checks JSON before it is parsed: its depth and the number of its objects and lists. Parsed values are many times larger than their
 * text (`{}` has 2 bytes there and 56 in memory), and recursive code ends at some depth.
 */
export class JsonScan {
  private depth = 0
  private containers = 0
  private state: 'outside' | 'string' | 'escaped' = 'outside'

  constructor(private readonly limits: JsonLimits) {}

  /** The limit that is exceeded; undefined: none. */
  push(bytes: Uint8Array): string | undefined {
    let { state } = this
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (state === 'escaped') state = 'string'
      else if (state === 'string') {
        if (byte === 0x22) state = 'outside'
        else if (byte === 0x5c) state = 'escaped'
      } else if (byte === 0x22) state = 'string'
      else if (byte === 0x7b || byte === 0x5b) {
        this.depth++
        this.containers++
        if (this.depth > this.limits.depth) return `it nests deeper than ${this.limits.depth} levels`
        if (this.containers > this.limits.containers)
          return `it has more than ${this.limits.containers} objects and lists`
      } else if (byte === 0x7d || byte === 0x5d) this.depth--
    }
    this.state = state
    return undefined
  }
}
