/**
 * The input of a graph of a step with prompts, as one array: one copy moves all of it to the device. Pure.
 *
 * Without a graph, launching a step of few rows takes longer than computing it. A graph has a fixed number of rows, so a batch is padded to
 * one of a few sizes. Each row reads its sequence's blocks from the cache, also where one kernel could compute a whole prompt, because the
 * lengths of prompts vary.
 */
import { type Part, partsFrom, putSamplingRows, type SamplingParts, samplingParts } from './graph-inputs.js'
import type { StepBatch } from './step.js'

/** Sizes of graphs, in rows. All multiples of 4, as for `bucketFor`. */
const sizes = [
  ...[32, 64, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072],
  ...[3584, 4096, 4608, 5120, 6144],
]

/** Limits of graphs: a larger step is not faster as a graph, or does not fit. */
export interface MixedLimits {
  rows: number
  samplingRows: number
  /** Keys that all prompt rows read. */
  keys: number
  /** Of the likeliest tokens. */
  top: number
}

/** Parts of the array. */
export interface MixedLayout extends SamplingParts {
  rows: number
  samplingRows: number
  /** The table's width; one word, padded. */
  width: Part
  ids: Part
  ropePositions: Part
  kvPositions: Part
  sequences: Part
  slotMapping: Part
  /** The row of each sampling row. */
  wanted: Part
  samplingPositions: Part
  /** Up to the end of the array. */
  blockTable: number
}

/** The layout of the smallest graph with room for a batch; undefined where there is none. */
export function mixedLayoutFor(batch: StepBatch, limits: MixedLimits): MixedLayout | undefined {
  const { sequences, kvPositions, samplingRows } = batch
  const rows = sizes.find(size => size >= sequences.length)
  if (!rows || rows > limits.rows || samplingRows.count > limits.samplingRows || samplingRows.top > limits.top)
    return undefined
  let keys = 0
  for (let row = 1; row < sequences.length; row++) {
    if (sequences[row]! >= 0 && sequences[row] === sequences[row - 1]) keys += kvPositions[row]! + 1
  }
  if (keys > limits.keys) return undefined
  const most =
    samplingRows.count === 0 ? 0 : samplingRows.count <= 32 ? Math.min(32, limits.samplingRows) : limits.samplingRows
  return mixedLayout(rows, most)
}

export function mixedLayout(rows: number, samplingRows: number): MixedLayout {
  const { part, end } = partsFrom(0)
  const parts = {
    rows,
    samplingRows,
    width: part(4),
    ids: part(rows),
    ropePositions: part(rows),
    kvPositions: part(rows),
    sequences: part(rows),
    slotMapping: part(rows),
    wanted: part(samplingRows),
    samplingPositions: part(samplingRows),
    ...samplingParts(part, samplingRows),
  }
  return { ...parts, blockTable: end() }
}

/** The size of the longest array, in words. */
export const mixedWords = ({ samplingRows }: MixedLimits, blockTableWords: number): number =>
  mixedLayout(sizes.at(-1)!, samplingRows).blockTable + blockTableWords

/** Padding rows, for a graph that is being captured. */
export function emptyMixed(layout: MixedLayout): Int32Array {
  const state = new Int32Array(layout.blockTable)
  for (const { at, words } of [layout.kvPositions, layout.slotMapping, layout.samplingPositions])
    state.fill(-1, at, at + words)
  return state
}

export function fillMixed(layout: MixedLayout, batch: StepBatch): Int32Array {
  const { sequences, samplingRows, blockTable, blockTableWidth } = batch
  const { count } = samplingRows
  if (sequences.length > layout.rows || count > layout.samplingRows)
    throw new RangeError(
      `${sequences.length} rows and ${count} samplingRows do not fit ${layout.rows} and ${layout.samplingRows}`,
    )
  const state = new Int32Array(layout.blockTable + blockTable.length)
  state.set(emptyMixed(layout))
  state[layout.width.at] = blockTableWidth
  state.set(batch.ids, layout.ids.at)
  state.set(batch.ropePositions, layout.ropePositions.at)
  state.set(batch.kvPositions, layout.kvPositions.at)
  state.set(sequences, layout.sequences.at)
  state.set(batch.slotMapping, layout.slotMapping.at)
  for (let row = 0; row < sequences.length; row++) if (sequences[row]! < 0) state[layout.kvPositions.at + row] = -1
  state.set(samplingRows.rows.subarray(0, count), layout.wanted.at)
  for (let i = 0; i < count; i++) state[layout.samplingPositions.at + i] = samplingRows.streams[3 * i + 2]!
  putSamplingRows(state, layout, samplingRows)
  state.set(blockTable, layout.blockTable)
  return state
}
