/** Reads the files of `logs/` a piece at a time: a run may have logged more than fits into memory while a tracker was away. */
import { open } from 'node:fs/promises'
import { type JsonObject, objectOf } from '../json-lines.js'

/** Read at once, unless one line or one group needs more. */
const pieceBytes = 1 << 15

export interface LogPiece {
  readonly lines: readonly { readonly value: JsonObject; readonly start: number }[]
  /** Where the next piece begins. */
  readonly end: number
}

/**
 * The objects of whole lines in `[from, to)`. With `group`, lines of the same group stay together: the last group of a piece is
 * left for the next one where it may go on there. Lines that are no objects are left out.
 */
export async function readPiece(
  path: string,
  { from, to }: { readonly from: number; readonly to: number },
  group?: (value: JsonObject) => unknown,
): Promise<LogPiece> {
  if (from >= to) return { lines: [], end: from }
  const file = await open(path, 'r')
  try {
    for (let size = Math.min(pieceBytes, to - from); ; size = Math.min(size * 2, to - from)) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, from)
      const complete = from + size >= to || bytesRead < size
      const piece = linesOf(buffer.subarray(0, bytesRead), from)
      if (complete) return piece
      const whole = group ? withoutLastGroup(piece, group) : piece
      if (whole.end > from) return whole
    }
  } finally {
    await file.close()
  }
}

function linesOf(bytes: Buffer, from: number): LogPiece {
  const lines: { value: JsonObject; start: number }[] = []
  let at = 0
  for (let next = bytes.indexOf(10); next >= 0; next = bytes.indexOf(10, at)) {
    const value = objectOf(bytes.toString('utf8', at, next))
    if (value) lines.push({ value, start: from + at })
    at = next + 1
  }
  return { lines, end: from + at }
}

function withoutLastGroup({ lines, end }: LogPiece, group: (value: JsonObject) => unknown): LogPiece {
  const last = lines.at(-1)
  if (!last) return { lines, end }
  const of = group(last.value)
  const first = lines.findLastIndex(({ value }) => group(value) !== of) + 1
  return { lines: lines.slice(0, first), end: lines[first]!.start }
}
