/**
 * JSON that is written while it is made. A large answer never exists as a whole: lists in it are made batch by batch as the
 * client takes them, and other requests get their turn between two pieces. An answer of one piece goes out with its length.
 */
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { untilDrained } from './until-drained.js'

/** A list whose items come in batches; each may hold lists like it. */
export class LazyList {
  constructor(readonly batches: () => Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>) {}
}

/** Characters that are sent at once. */
const pieceSize = 64 << 10

export interface WriteOptions {
  signal: AbortSignal
  /** How long a client may take nothing. */
  stallMs: number
}

/** Sends `value` as the body of a 200. Ends without a word where the client has gone. */
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
    // A client that takes everything at once would keep the others out.
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

/** Lists are leaves: one that is to be written piece by piece is lazy itself. */
function hasLazyList(value: unknown): boolean {
  if (value instanceof LazyList) return true
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const name in value) if (hasLazyList((value as Record<string, unknown>)[name])) return true
  return false
}
