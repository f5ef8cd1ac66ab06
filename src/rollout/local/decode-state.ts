/**
 * What steps that follow one another on a CUDA device start from, as one array: one copy brings all of it there. Pure.
 *
 * A graph has a fixed number of rows and fixed addresses, so a batch is filled up to one of a few sizes, and each size has its
 * own places in the array.
 */
import type { StepBatch } from './step.js'

/** Numbers of rows there are graphs for. All of them whole numbers of 4: kernels want every part to start at 16 bytes. */
const buckets = [4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]

/** The least number of rows of a graph that has room for so many. */
export function bucketFor(rows: number): number {
  return buckets.find(size => size >= rows) ?? Math.ceil(rows / 512) * 512
}

/** Parts of the array: where each begins, in words, and how many it has. */
export interface StateLayout {
  rows: number
  /** The table's width; one word, filled up. */
  width: Part
  ids: Part
  positions: Part
  budgets: Part
  left: Part
  forced: Part
  keys: Part
  /** float32. */
  settings: Part
  bannedOffsets: Part
  /** Goes on to the end of the array. */
  table: number
}
export interface Part {
  at: number
  words: number
}

/** Parts one after another. */
export function partsFrom(start: number): { part(words: number): Part; end(): number } {
  let at = start
  return {
    part(words) {
      const made = { at, words }
      at += words
      return made
    },
    end: () => at,
  }
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
    forced: part(rows),
    keys: part(2 * rows),
    settings: part(4 * rows),
    bannedOffsets: part(rows + 4),
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
  put(layout.forced, draws.forced)
  const floats = new Float32Array(state.buffer)
  floats.set(draws.settings, layout.settings.at)
  for (let i = 0; i < count; i++) {
    state[layout.keys.at + 2 * i] = draws.streams[3 * i]!
    state[layout.keys.at + 2 * i + 1] = draws.streams[3 * i + 1]!
  }
  state.set(draws.bannedOffsets, layout.bannedOffsets.at)
  state.fill(
    draws.bannedOffsets[count]!,
    layout.bannedOffsets.at + count + 1,
    layout.bannedOffsets.at + layout.rows + 1,
  )
  state.set(table.subarray(0, count * tableWidth), layout.table)
  return state
}

/** Any arrays as one, and where each is in it. An empty one has a place too: kernels want an address. */
export function together(arrays: readonly (Int32Array | Float32Array)[]): { words: Int32Array; parts: Part[] } {
  let end = 0
  const parts = arrays.map(({ length }): Part => {
    const part = { at: end, words: length || 4 }
    end += 4 * Math.ceil(part.words / 4)
    return part
  })
  const words = new Int32Array(end)
  const floats = new Float32Array(words.buffer)
  for (const [i, array] of arrays.entries()) (array instanceof Float32Array ? floats : words).set(array, parts[i]!.at)
  return { words, parts }
}

/** Whether any row has topK, topP or minP. */
export function hasFilters({ count, settings }: StepBatch['draws']): boolean {
  for (let i = 0; i < 4 * count; i += 4) {
    const temperature = settings[i]!
    const topK = settings[i + 1]!
    const topP = settings[i + 2]!
    const minP = settings[i + 3]!
    if (temperature > 0 && (topK > 0 || topP < 1 || minP > 0)) return true
  }
  return false
}
