/**
 * A file that is one JSON list. Written here because `JSON.parse` needs all of it in memory at once: this one finds where
 * elements begin and end, and leaves each to `JSON.parse`.
 */
import { type ParsedRow, parseJson, type RowFormat } from './row-format.js'
import type { RowBoundary } from './row-splitter.js'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const opens = (byte: number) => byte === 0x5b || byte === 0x7b
const closes = (byte: number) => byte === 0x5d || byte === 0x7d

type State = 'before' | 'element' | 'string' | 'escaped' | 'after'

class ListBoundary implements RowBoundary {
  readonly openEnded = true
  readonly lines = 'one'
  state: State = 'before'
  #depth = 0

  /** After the comma behind an element, or after the bracket that ends the list. */
  next(chunk: Uint8Array, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i]!
      if (this.state === 'string') {
        if (byte === quote) this.state = 'element'
        else if (byte === backslash) this.state = 'escaped'
      } else if (this.state === 'escaped') this.state = 'string'
      else if (this.state === 'after') return -1
      else if (byte === quote) this.state = 'string'
      else if (opens(byte)) {
        this.state = 'element'
        this.#depth++
      } else if (closes(byte)) {
        this.#depth--
        if (this.#depth > 0) continue
        this.state = 'after'
        return i + 1
      } else if (byte === comma && this.#depth === 1) return i + 1
    }
    return -1
  }
}

export function jsonList(): RowFormat {
  const boundary = new ListBoundary()
  let ended = false
  return {
    boundary,
    values: 'typed',
    named: 'row',
    parse: (text, line): ParsedRow => {
      let element = text
      if (line === 1) {
        element = element.trimStart()
        if (!element.startsWith('['))
          return {
            kind: 'bad',
            reason: 'file',
            message: 'expected a list of rows; a file with one row per line must end in .jsonl',
          }
        element = element.slice(1)
      }
      const end = element.trimEnd().at(-1)
      if (end !== ',' && end !== ']') {
        if (ended && element.trim() === '') return { kind: 'none' }
        return {
          kind: 'bad',
          reason: 'file',
          message: ended ? 'not JSON (text after the list)' : 'not JSON (the list does not end)',
        }
      }
      if (end === ']') ended = true
      element = element.trimEnd().slice(0, -1)
      return element.trim() === '' && end === ']' ? { kind: 'none' } : parseJson(element)
    },
    atEnd: () => (boundary.state === 'after' ? undefined : 'not JSON (the list does not end)'),
  }
}
