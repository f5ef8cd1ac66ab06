/**
 * Writes JSON while it is made. A large answer never exists as a whole: its lists are made in batches as the client reads them, and
 * other requests run between two pieces. A short answer is sent in one piece with its length.
 */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** A list whose items come in batches; an item may hold lazy lists. */
export class LazyList {
  constructor(readonly batches: () => Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>) {}
}

/** Characters of one piece. */
const pieceSize = 64 << 10

export interface WriteOptions {
  signal: AbortSignal
  /** How long a client may read nothing. */
  stallMs: number
}

/** Sends `value` as the body of a 200. Ends silently where the client has gone. */
export async function writeJson(response: ServerResponse, value: object, options: WriteOptions): Promise<void> {
  const type = { 'content-type': 'application/json' }
  let text = ''
  let started = false
  const flush = async (): Promise<void> => {
    if (text.length < pieceSize) return
    options.signal.throwIfAborted()
    if (!started) response.writeHead(200, type)
    started = true
    const taken = response.write(text)
    text = ''
    if (!taken) await untilDrained(response, options)
    // Lets other requests run, also where the client reads everything at once.
    await setImmediate()
  }
  const write = async (part: unknown): Promise<void> => {
    if (part instanceof LazyList) {
      text += '['
      let separator = ''
      for await (const batch of part.batches()) {
        for (const item of batch) {
          text += separator
          separator = ','
          if (hasLazyList(item)) await write(item)
          else text += JSON.stringify(item)
        }
        await flush()
      }
      text += ']'
    } else if (hasLazyList(part)) {
      let separator = '{'
      for (const [name, field] of Object.entries(part as object)) {
        if (field === undefined) continue
        text += `${separator}${JSON.stringify(name)}:`
        separator = ','
        await write(field)
      }
      text += '}'
    } else text += JSON.stringify(part)
  }
  await write(value)
  if (response.destroyed) return
  if (!started) response.writeHead(200, { ...type, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Plain arrays are not searched: a list to be written in pieces is lazy itself. */
function hasLazyList(value: unknown): boolean {
  if (value instanceof LazyList) return true
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const name in value) if (hasLazyList((value as Record<string, unknown>)[name])) return true
  return false
}

/** Resolves when the client has read what was written, or has gone. Closes the connection of a client that reads nothing for `stallMs`. */
export function untilDrained(response: ServerResponse, { signal, stallMs }: WriteOptions): Promise<void> {
  if (signal.aborted || response.destroyed || !response.writableNeedDrain) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      response.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), stallMs)
    response.on('drain', done)
    signal.addEventListener('abort', done)
  })
}
