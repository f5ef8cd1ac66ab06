/** Finds a text among those of all samples, in any case, by reading the folded texts from their end: the newest samples come first. */
import type { FileHandle } from 'node:fs/promises'
import type { SampleColumns } from './columns.js'

const blockBytes = 4 << 20

interface SearchOptions {
  readonly columns: SampleColumns
  /** Rows that are stored: those after them have their texts in memory. */
  readonly rows: number
  readonly file: FileHandle
  readonly bytes: number
  readonly needle: string
  /** The search ends here, complete or not. */
  readonly deadline: number
}

/** Marks the rows whose prompt or response has the text. Resolves to whether everything was searched. */
export async function searchTexts(options: SearchOptions, matches: Uint8Array): Promise<boolean> {
  const { columns, rows, file, bytes, deadline } = options
  const needle = Buffer.from(options.needle.toLowerCase())
  const overlap = needle.length - 1
  const block = Buffer.allocUnsafe(blockBytes + overlap)
  // A byte is found faster than a text of one byte.
  const wanted = needle.length === 1 ? needle[0]! : needle
  for (let start = Math.max(0, bytes - blockBytes); ; start = Math.max(0, start - blockBytes)) {
    const length = Math.min(bytes - start, blockBytes + overlap)
    if (length <= 0) return true
    const { bytesRead } = await file.read(block, 0, length, start)
    const piece = block.subarray(0, bytesRead)
    let row = lastStart(columns, rows, start)
    for (let at = piece.indexOf(wanted); at >= 0; ) {
      row = lastStart(columns, rows, start + at, row)
      at = piece.indexOf(wanted, mark(options, start + at, row, matches) - start)
    }
    if (start === 0) return true
    if (performance.now() > deadline) return false
  }
}

/** Marks the row or the group that a byte belongs to, and gives the next byte to look at. `row` is the last that begins before it. */
function mark({ columns, rows }: SearchOptions, at: number, row: number, matches: Uint8Array): number {
  const end = row < 0 ? -1 : columns.at(row, 'foldAt') + columns.at(row, 'foldBytes')
  if (at < end) {
    matches[row] = 1
    return end
  }
  // Between two responses lies the prompt of the next group.
  const first = row + 1
  if (first >= rows) return Number.MAX_SAFE_INTEGER
  const [prompt, iteration] = [columns.at(first, 'prompt'), columns.at(first, 'iteration')]
  for (let one = first; one < rows; one++) {
    if (columns.at(one, 'prompt') !== prompt || columns.at(one, 'iteration') !== iteration) break
    matches[one] = 1
  }
  return columns.at(first, 'foldAt')
}

/** The last row whose response begins at or before a byte; -1 where there is none. `known` is a row that does, or -1: often the next is it. */
function lastStart(columns: SampleColumns, rows: number, at: number, known = -1): number {
  for (let row = known; row < known + 4; row++) if (row + 1 >= rows || columns.at(row + 1, 'foldAt') > at) return row
  let [low, high] = [known + 1, rows]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (columns.at(middle, 'foldAt') <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}
