/**
 * Parses JSON without blocking the event loop. An answer of 32,000 tokens with log-probabilities has 4 MB; `JSON.parse` takes 30 ms for
 * it, and hundreds of them may come at once.
 */
import { ProtocolError } from './errors.js'

/** Most characters for one call of `JSON.parse`. */
const slice = 128 << 10

const turn = (): Promise<void> => inTurn(() => {})

/** A text of any length; a short one with one `JSON.parse`. */
export function parseJson(text: string): Promise<unknown> {
  return isLong(text) ? parseLong(text) : inTurn(() => parseShort(text))
}

export const isLong = (text: string): boolean => text.length > 2 * slice

export function parseShort(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const hint = /\b(NaN|Infinity)\b/.test(text) ? '; it has NaN or infinite numbers' : ''
    throw new ProtocolError(`the answer is not JSON (${text.length} characters)${hint}`)
  }
}

/** Splits long arrays and objects; gives their items to `JSON.parse`, many at once. */
export async function parseLong(text: string, most = slice): Promise<unknown> {
  const ends = await longEnds(text, most)
  const parseValue = async (start: number, end: number): Promise<unknown> => {
    const at = skipSpace(text, start)
    const close = ends.get(at)
    if (close === undefined) return parseShort(text.slice(start, end))
    if (skipSpace(text, close + 1) < end) throw new ProtocolError('the answer is not JSON')
    const isObject = text[at] === '{'
    const open = isObject ? '{' : '['
    const shut = isObject ? '}' : ']'
    const list: unknown[] = []
    const record: Record<string, unknown> = {}
    const take = (part: unknown): void => {
      if (isObject) for (const [key, value] of Object.entries(part as object)) put(record, key, value)
      else for (const item of part as unknown[]) list.push(item)
    }
    // Items from `from` on are parsed together; the next item begins at `seek`.
    let from = at + 1
    let seek = from
    const flush = async (to: number): Promise<void> => {
      const some = text.slice(from, to)
      if (some.trim() !== '') take(parseShort(open + some + shut))
      await turn()
    }
    while (seek < close) {
      let stop = itemEnd(text, seek, close, ends)
      const inner = isObject ? valueStart(text, seek, stop) : skipSpace(text, seek)
      if (ends.has(inner)) {
        if (from < seek) await flush(seek - 1)
        const value = await parseValue(inner, stop)
        if (isObject) put(record, keyOf(text.slice(seek, inner)), value)
        else list.push(value)
        from = stop + 1
      } else if (stop - from > most) {
        await flush(stop)
        from = stop + 1
      }
      if (stop >= close) {
        if (from < close) await flush(close)
        stop = close
      }
      seek = stop + 1
    }
    return isObject ? record : list
  }
  return parseValue(0, text.length)
}

/** Where arrays and objects of more than `most` characters begin and end. */
async function longEnds(text: string, most: number): Promise<ReadonlyMap<number, number>> {
  const ends = new Map<number, number>()
  const starts: number[] = []
  for (let i = 0, pause = most; i < text.length; i++) {
    if (i >= pause) {
      pause = i + 8 * most
      await turn()
    }
    const code = text.charCodeAt(i)
    if (code === 0x22) i = stringEnd(text, i)
    else if (code === 0x5b || code === 0x7b) starts.push(i)
    else if (code === 0x5d || code === 0x7d) {
      const start = starts.pop()
      if (start === undefined) break
      if (i - start > most) ends.set(start, i)
    }
  }
  return ends
}

/** The index of the closing quote of the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let i = text.indexOf('"', start + 1); i >= 0; i = text.indexOf('"', i + 1)) {
    let slashes = 0
    while (text.charCodeAt(i - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return i
  }
  return text.length
}

/** The comma after the item that begins at `start`, or the container's end. */
function itemEnd(text: string, start: number, close: number, ends: ReadonlyMap<number, number>): number {
  let depth = 0
  for (let i = start; i < close; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) i = stringEnd(text, i)
    else if (code === 0x5b || code === 0x7b) {
      const known = ends.get(i)
      if (known === undefined) depth++
      else i = known
    } else if (code === 0x5d || code === 0x7d) depth--
    else if (code === 0x2c && depth === 0) return i
  }
  return close
}

/** Where the value of an object's item begins: after its key. */
function valueStart(text: string, start: number, end: number): number {
  const at = skipSpace(text, start)
  if (text[at] !== '"') return at
  const colon = text.indexOf(':', stringEnd(text, at))
  return colon < 0 || colon > end ? at : skipSpace(text, colon + 1)
}

/** Assigning to `__proto__` would set the prototype. */
function put(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true })
  else record[key] = value
}

function keyOf(text: string): string {
  const [key] = Object.keys(parseShort(`{${text}0}`) as object)
  return key ?? ''
}

function skipSpace(text: string, start: number): number {
  let i = start
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++
  return i
}

/** Time for queued work before other events are handled. */
const sliceMs = 3

const queue: (() => void)[] = []
let isScheduled = false

/** Queues work: a thousand answers that come at once would block timers and other requests for a second. */
export function inTurn<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    queue.push(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    })
    schedule()
  })
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(drain)
}

function drain(): void {
  isScheduled = false
  let done = 0
  for (const end = performance.now() + sliceMs; done < queue.length && performance.now() < end; ) queue[done++]!()
  // Now, not when all is done: under load the queue never gets empty.
  queue.splice(0, done)
  if (queue.length > 0) schedule()
}
