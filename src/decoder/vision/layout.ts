/**
 * Where the patches of images and videos are, and which of them see each other. Rows are patches: frame pair by frame pair, in each
 * the tokens row by row, and in a token its patches row by row. Pure.
 */
import type { VisionConfig } from './config.js'

export type Grid = readonly [time: number, height: number, width: number]

/** Segments of rows that see each other, gathered by their length. */
export interface SegmentGroups {
  /** Rows in the order of groups, and back; undefined where they already are in this order. */
  order: Int32Array | undefined
  inverse: Int32Array | undefined
  /** Ranges of rows in that order, each of whole segments of `length` rows. */
  groups: readonly { start: number; rows: number; length: number }[]
}

export interface TowerLayout {
  /** Row and column of each patch in its frame. */
  rows: Int32Array
  columns: Int32Array
  frames: SegmentGroups
  windows: SegmentGroups | undefined
  /** The four entries of the table of positions around each patch, `[4, patches]`, and what each counts. */
  table: { entries: Int32Array; shares: Float32Array } | undefined
}

export const patchesOf = ([time, height, width]: Grid): number => time * height * width

/** Tokens of a grid. */
export const tokensOf = (grid: Grid, { merge }: Pick<VisionConfig, 'merge'>): number => patchesOf(grid) / merge ** 2

export function towerLayout(
  grids: readonly Grid[],
  { merge, windows, tableSide }: Pick<VisionConfig, 'merge' | 'windows' | 'tableSide'>,
): TowerLayout {
  const total = grids.reduce((sum, grid) => sum + patchesOf(grid), 0)
  const [rows, columns] = [new Int32Array(total), new Int32Array(total)]
  const frames: Int32Array[] = []
  const cells: Int32Array[] = []
  let first = 0
  for (const [time, height, width] of grids) {
    for (let t = 0; t < time; t++, first += height * width) {
      let at = first
      for (let y = 0; y < height; y += merge)
        for (let x = 0; x < width; x += merge)
          for (let j = 0; j < merge * merge; j++, at++) {
            rows[at] = y + Math.floor(j / merge)
            columns[at] = x + (j % merge)
          }
      frames.push(Int32Array.from({ length: height * width }, (_, i) => first + i))
      if (windows)
        cells.push(...windowsOf({ first, height: height / merge, width: width / merge, merge }, windows.side))
    }
  }
  return {
    rows,
    columns,
    frames: groupSegments(frames, total),
    windows: windows && groupSegments(cells, total),
    table: tableSide === undefined ? undefined : tableEntries(grids, rows, columns, tableSide),
  }
}

/** The rows of each window of a frame of `height` by `width` tokens. Those at the right and at the bottom may be smaller. */
function windowsOf(frame: { first: number; height: number; width: number; merge: number }, side: number): Int32Array[] {
  const { first, height, width, merge } = frame
  const each = merge * merge
  const found: Int32Array[] = []
  for (let top = 0; top < height; top += side)
    for (let left = 0; left < width; left += side) {
      const [high, wide] = [Math.min(side, height - top), Math.min(side, width - left)]
      const rows = new Int32Array(high * wide * each)
      let at = 0
      for (let y = top; y < top + high; y++)
        for (let row = first + (y * width + left) * each, end = row + wide * each; row < end; row++) rows[at++] = row
      found.push(rows)
    }
  return found
}

function groupSegments(segments: readonly Int32Array[], total: number): SegmentGroups {
  const byLength = new Map<number, Int32Array[]>()
  for (const segment of segments) {
    const known = byLength.get(segment.length)
    if (known) known.push(segment)
    else byLength.set(segment.length, [segment])
  }
  const order = new Int32Array(total)
  let start = 0
  const groups = [...byLength].map(([length, group]) => {
    const rows = length * group.length
    for (const [i, segment] of group.entries()) order.set(segment, start + i * length)
    start += rows
    return { start: start - rows, rows, length }
  })
  if (order.every((row, i) => row === i)) return { order: undefined, inverse: undefined, groups }
  const inverse = new Int32Array(total)
  for (const [i, row] of order.entries()) inverse[row] = i
  return { order, inverse, groups }
}

/** A grid of any size is laid over the whole table: its corners meet the table's corners, and what is between is bilinear. */
function tableEntries(
  grids: readonly Grid[],
  rows: Int32Array,
  columns: Int32Array,
  side: number,
): NonNullable<TowerLayout['table']> {
  const total = rows.length
  const entries = new Int32Array(4 * total)
  const shares = new Float32Array(4 * total)
  let at = 0
  for (const grid of grids) {
    const [, height, width] = grid
    const end = at + patchesOf(grid)
    for (; at < end; at++) {
      const y = height > 1 ? Math.fround((rows[at]! * (side - 1)) / (height - 1)) : 0
      const x = width > 1 ? Math.fround((columns[at]! * (side - 1)) / (width - 1)) : 0
      const [top, left] = [Math.floor(y), Math.floor(x)]
      const [bottom, right] = [Math.min(top + 1, side - 1), Math.min(left + 1, side - 1)]
      const [down, over] = [y - top, x - left]
      const corners = [
        [top, left, (1 - down) * (1 - over)],
        [top, right, (1 - down) * over],
        [bottom, left, down * (1 - over)],
        [bottom, right, down * over],
      ] as const
      for (const [k, [row, column, share]] of corners.entries()) {
        entries[k * total + at] = row * side + column
        shares[k * total + at] = share
      }
    }
  }
  return { entries, shares }
}
