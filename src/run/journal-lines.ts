/**
 * Lines of a journal: `{"crc32":"1f2e3d4c","record":{...}}`, the checksum over the bytes of the record as they stand there.
 */
import { crc32 } from 'node:zlib'
import { JournalError } from './errors.js'
import { type ExactJson, exactParse, exactStringify } from './exact-json.js'

/** One thing that happened, such as a finished rollout. Typed arrays come back exactly as they went in. */
export interface JournalRecord {
  readonly kind: string
  readonly [field: string]: ExactJson | undefined
}

export interface LocatedRecord {
  readonly record: JournalRecord
  readonly file: string
  /** From 1. */
  readonly line: number
}

const start = Buffer.from('{"crc32":"')
const middle = Buffer.from('","record":')
const bodyAt = start.length + 8 + middle.length
const newline = 10
const closingBrace = 125

export function encodeLine(record: JournalRecord): Buffer {
  const body = Buffer.from(exactStringify(record))
  return Buffer.concat([start, Buffer.from(checksum(body)), middle, body, Buffer.from('}\n')])
}

export interface JournalContent {
  records: LocatedRecord[]
  /** Bytes of the whole lines: what lies beyond is the line a process was writing when it died. */
  size: number
}

/**
 * Reads a journal file's bytes. A process or a machine that dies while it writes leaves an unfinished end: a last line without
 * its newline, or blocks of zeros where the disk had not yet written. That end is left out. Any other line that does not match
 * its checksum is a {@link JournalError}: it was whole once.
 */
export function decodeLines(file: string, bytes: Buffer): JournalContent {
  const records: LocatedRecord[] = []
  let size = 0
  let bad: { line: number; body: Buffer } | undefined
  let line = 0
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(newline, from)
    const end = found < 0 ? bytes.length : found
    line++
    const text = bytes.subarray(from, end)
    const record = found < 0 ? undefined : decodeLine(text)
    if (record && !bad) {
      records.push({ record, file, line })
      size = end + 1
    } else if (record && bad) throw new JournalError(file, bad.line, nameOf(bad.body))
    else bad ??= { line, body: text }
    from = end + 1
  }
  if (bad && !isUnfinished(bytes.subarray(size))) throw new JournalError(file, bad.line, nameOf(bad.body))
  return { records, size }
}

/** The record, or undefined where the line does not match its checksum. */
function decodeLine(text: Buffer): JournalRecord | undefined {
  if (text.length <= bodyAt || text.at(-1) !== closingBrace) return undefined
  const sum = text.toString('latin1', start.length, start.length + 8)
  const body = text.subarray(bodyAt, -1)
  if (!text.subarray(0, start.length).equals(start) || !text.subarray(start.length + 8, bodyAt).equals(middle))
    return undefined
  return checksum(body) === sum ? (exactParse(body.toString()) as JournalRecord) : undefined
}

function isUnfinished(tail: Buffer): boolean {
  return tail.at(-1) !== newline || tail.includes(0)
}

function checksum(body: Uint8Array): string {
  return crc32(body).toString(16).padStart(8, '0')
}

/** What a damaged record still says of itself. */
function nameOf(body: Buffer): Record<string, string | number> {
  const text = body.toString()
  const name: Record<string, string | number> = {}
  for (const key of ['kind', 'group', 'sample', 'prompt', 'rowId', 'step']) {
    const match = new RegExp(`"${key}":(?:"([^"\\\\]{1,80})"|(-?\\d{1,15})(?=[,}]))`).exec(text)
    if (match) name[key] = match[1] ?? Number(match[2])
  }
  return name
}
