/**
 * What steps that follow one another on a CUDA device start from, as one array: one copy brings all of it there. Pure.
 *
 * A graph has a fixed number of rows and fixed addresses, so a batch is filled up to one of a few sizes, and each size has its
 * own places in the array.
 */
import { type DrawParts, drawParts, type Part, partsFrom, putDraws } from './state-parts.js'
import type { StepBatch } from './step.js'

/** Numbers of rows there are graphs for. All of them whole numbers of 4: kernels want every part to start at 16 bytes. */
const buckets = [4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]

/** The least number of rows of a graph that has room for so many. */
export function bucketFor(rows: number): number {
  return buckets.find(size => size >= rows) ?? Math.ceil(rows / 512) * 512
}

/** Parts of the array. */
export interface StateLayout extends DrawParts {
  rows: number
  /** The table's width; one word, filled up. */
  width: Part
  ids: Part
  positions: Part
  budgets: Part
  left: Part
  /** Goes on to the end of the array. */
  table: number
}

export function stateLayout(rows: number): StateLayout {
  const { part, end } = partsFrom(0)
  const parts = {
    rows,
    width: part(4),
    ids: part(rows),
    positions: part(rows),
    budgets: part(rows),
    left: part(rows),
    ...drawParts(part, rows),
  }
  return { ...parts, table: end() }
}

/** The words of a table with so many sequences and blocks of each. */
export const stateWords = (layout: StateLayout, tableWords: number): number => layout.table + tableWords

/** Rows that are not there, for a graph that is being made. */
export function emptyState(layout: StateLayout): Int32Array {
  const state = new Int32Array(stateWords(layout, 0))
  state.fill(-1, layout.positions.at, layout.positions.at + layout.positions.words)
  return state
}

/** A batch whose every row is the last token of a sequence and draws the next; `budgets` says how many it may draw. */
export function fillState(layout: StateLayout, batch: StepBatch, budgets: Int32Array): Int32Array {
  const { draws, table, tableWidth } = batch
  const { count } = draws
  if (count > layout.rows) throw new RangeError(`${count} rows do not fit ${layout.rows}`)
  const state = new Int32Array(stateWords(layout, count * tableWidth))
  state[layout.width.at] = tableWidth
  state.fill(-1, layout.positions.at, layout.positions.at + layout.rows)
  const put = ({ at }: Part, values: Int32Array): void => state.set(values.subarray(0, count), at)
  put(layout.ids, batch.ids)
  put(layout.positions, batch.positions)
  put(layout.budgets, budgets)
  put(layout.left, budgets)
  putDraws(state, layout, draws)
  state.set(table.subarray(0, count * tableWidth), layout.table)
  return state
}
