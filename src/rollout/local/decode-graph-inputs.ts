/**
 * The input of consecutive decode steps on a CUDA device, as one array: one copy moves all of it. Pure.
 *
 * A graph has a fixed number of rows and fixed addresses, so a batch is padded to one of a few sizes, and each size has its own layout.
 */
import { type Part, partsFrom, putSamplingRows, type SamplingParts, samplingParts } from './graph-inputs.js'
import type { StepBatch } from './step.js'

/** Sizes of graphs, in rows. All multiples of 4: kernels need parts that start at multiples of 16 bytes. */
const buckets = [4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]

/** The smallest graph with room for this number of rows. */
export function bucketFor(rows: number): number {
  return buckets.find(size => size >= rows) ?? Math.ceil(rows / 512) * 512
}

/** Parts of the array. */
export interface DecodeLayout extends SamplingParts {
  rows: number
  /** The table's width; one word, padded. */
  width: Part
  ids: Part
  /** For rope, for the cache and for random numbers. */
  positions: Part
  budgets: Part
  left: Part
  /** Up to the end of the array. */
  blockTable: number
}

export function decodeLayout(rows: number): DecodeLayout {
  const { part, end } = partsFrom(0)
  const parts = {
    rows,
    width: part(4),
    ids: part(rows),
    positions: part(rows),
    budgets: part(rows),
    left: part(rows),
    ...samplingParts(part, rows),
  }
  return { ...parts, blockTable: end() }
}

/** The size of a block table, in words. */
export const decodeWords = (layout: DecodeLayout, blockTableWords: number): number =>
  layout.blockTable + blockTableWords

/** Padding rows, for a graph that is being captured. */
export function emptyDecodeInputs(layout: DecodeLayout): Int32Array {
  const state = new Int32Array(decodeWords(layout, 0))
  state.fill(-1, layout.positions.at, layout.positions.at + layout.positions.words)
  return state
}

/** A batch whose rows are the last tokens of sequences; `budgets`: how many tokens each may sample. */
export function fillDecodeInputs(layout: DecodeLayout, batch: StepBatch, budgets: Int32Array): Int32Array {
  const { samplingRows, blockTable, blockTableWidth } = batch
  const { count } = samplingRows
  if (count > layout.rows) throw new RangeError(`${count} rows do not fit ${layout.rows}`)
  const state = new Int32Array(decodeWords(layout, count * blockTableWidth))
  state[layout.width.at] = blockTableWidth
  state.fill(-1, layout.positions.at, layout.positions.at + layout.rows)
  const put = ({ at }: Part, values: Int32Array): void => state.set(values.subarray(0, count), at)
  put(layout.ids, batch.ids)
  put(layout.positions, batch.kvPositions)
  put(layout.budgets, budgets)
  put(layout.left, budgets)
  putSamplingRows(state, layout, samplingRows)
  state.set(blockTable.subarray(0, count * blockTableWidth), layout.blockTable)
  return state
}
