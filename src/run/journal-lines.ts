/**
 * Lines of a journal: `{"journal":2,"crc32":"1f2e3d4c","record":{...}}`, the checksum over the bytes of the record as they stand
 * there. Every line has the version of the format: a process that is killed between two lines cannot lose it, and every line can be
 * read alone.
 */
import { crc32 } from 'node:zlib'
import { JournalError, JournalVersionError } from './errors.js'
import { type ExactJson, exactParse, exactStringify } from './exact-json.js'

/** One record, such as a finished sample. Typed arrays are restored exactly. */
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

/** Of records and lines. A change that readers of the version before cannot read is a new number. */
const formatVersion = 2
const start = Buffer.from(`{"journal":${formatVersion},"crc32":"`)
const middle = Buffer.from('","record":')
const bodyAt = start.length + 8 + middle.length
const newline = 10
const closingBrace = 125

export function encodeLine(record: JournalRecord): Buffer {
  const body = Buffer.from(exactStringify(record))
  return Buffer.concat([start, Buffer.from(checksum(body)), middle, body, Buffer.from('}\n')])
}

/**
 * Reads a journal file's bytes as they come, in pieces of any size. A process or a machine that dies while it writes leaves an
 * unfinished end: a last line without its newline, or blocks of zeros where the disk had not yet written. That end is left out.
 * Any other line that does not match its checksum is a {@link JournalError}: it was whole once.
 */
export class JournalReader {
  /** Bytes of the whole lines: what lies beyond is the line a process was writing when it died. */
  size = 0
  #line = 0
  #begun: Buffer[] = []
  #bad: { line: number; body: Buffer } | undefined
  #hasZeros = false

  constructor(
    private readonly file: string,
    /** Told each record, in their order. Without it lines are checked and not read. */
    private readonly onRecord?: (record: LocatedRecord) => void,
  ) {}

  take(piece: Buffer): void {
    let from = 0
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      this.#take(Buffer.concat([...this.#begun, piece.subarray(from, end)]))
      this.#begun = []
      from = end + 1
    }
    if (from < piece.length) this.#begun.push(piece.subarray(from))
  }

  /** After the last piece. */
  end(): void {
    const isUnfinished = this.#begun.length > 0 || this.#hasZeros
    if (this.#bad && !isUnfinished) throw this.#error(this.#bad)
  }

  #take(text: Buffer): void {
    const { file } = this
    const line = ++this.#line
    if (line === 1) refuseOtherVersion(file, text)
    const body = checkedBody(text)
    if (body && this.#bad) throw this.#error(this.#bad)
    if (!body) {
      this.#bad ??= { line, body: text }
      this.#hasZeros ||= text.includes(0)
      return
    }
    this.size += text.length + 1
    this.onRecord?.({ record: exactParse(body.toString()) as JournalRecord, file, line })
  }

  #error({ line, body }: { line: number; body: Buffer }): JournalError {
    return new JournalError(this.file, line, nameOf(body))
  }
}

/** Throws where a line is of another version of the format. Version 1 did not say which it was. */
export function refuseOtherVersion(file: string, line: Buffer): void {
  const found = /^\{(?:"journal":(\d+),)?"crc32":"/.exec(line.toString('latin1', 0, 64))
  const version = Number(found?.[1] ?? 1)
  if (found && version !== formatVersion) throw new JournalVersionError(file, version, formatVersion)
}

/** The bytes of a line's record, or undefined where they do not match their checksum. */
function checkedBody(text: Buffer): Buffer | undefined {
  if (text.length <= bodyAt || text.at(-1) !== closingBrace) return undefined
  const sum = text.toString('latin1', start.length, start.length + 8)
  const body = text.subarray(bodyAt, -1)
  if (!text.subarray(0, start.length).equals(start) || !text.subarray(start.length + 8, bodyAt).equals(middle))
    return undefined
  return checksum(body) === sum ? body : undefined
}

function checksum(body: Uint8Array): string {
  return crc32(body).toString(16).padStart(8, '0')
}

/** What a damaged record still says of itself. */
function nameOf(body: Buffer): Record<string, string | number> {
  const text = body.toString()
  const name: Record<string, string | number> = {}
  for (const key of ['kind', 'promptId', 'sample', 'prompt', 'step']) {
    const match = new RegExp(`"${key}":(?:"([^"\\\\]{1,80})"|(-?\\d{1,15})(?=[,}]))`).exec(text)
    if (match) name[key] = match[1] ?? Number(match[2])
  }
  return name
}
