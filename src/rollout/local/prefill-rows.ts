/**
 * The rows of a mixed step, in the order a CUDA device wants them: first the beginnings of sequences, which see nothing but
 * themselves and go through one attention kernel as they lie; then single rows, which read their sequences' blocks. Pure.
 */
import type { StepBatch } from './step.js'

export interface PrefillRows {
  ids: Int32Array
  positions: Int32Array
  slots: Int32Array
  /** Where each beginning starts, and the end of the last; the first rows of the step. */
  offsets: Int32Array
  /** Rows of the longest beginning. */
  longest: number
  /** The other rows, as rows of the table and positions. */
  paged: { sequences: Int32Array; positions: Int32Array }
  /** Each draw's row in this order. */
  wanted: Int32Array
}

export function prefillRows(batch: StepBatch): PrefillRows {
  const { sequences, positions, draws } = batch
  const runs: { start: number; end: number }[] = []
  for (let row = 0; row < sequences.length; row++) {
    if (sequences[row]! < 0) continue
    const last = runs.at(-1)
    if (last && last.end === row && sequences[row] === sequences[last.start]) last.end++
    else runs.push({ start: row, end: row + 1 })
  }
  const begins = (run: { start: number; end: number }): boolean => run.end - run.start > 1 && positions[run.start] === 0
  const first = runs.filter(begins)
  const rest = runs.filter(run => !begins(run))
  const offsets = new Int32Array(first.length + 1)
  let longest = 0
  for (const [i, { start, end }] of first.entries()) {
    offsets[i + 1] = offsets[i]! + end - start
    longest = Math.max(longest, end - start)
  }
  const order: number[] = []
  for (const { start, end } of [...first, ...rest]) for (let row = start; row < end; row++) order.push(row)
  const place = new Int32Array(sequences.length)
  for (const [i, row] of order.entries()) place[row] = i
  const pick = (values: Int32Array, from = 0): Int32Array =>
    Int32Array.from({ length: order.length - from }, (_, i) => values[order[from + i]!]!)
  const fresh = offsets[first.length]!
  return {
    ids: pick(batch.ids),
    positions: pick(positions),
    slots: pick(batch.slots),
    offsets,
    longest,
    paged: { sequences: pick(sequences, fresh), positions: pick(positions, fresh) },
    wanted: Int32Array.from({ length: draws.count }, (_, i) => place[draws.rows[i]!]!),
  }
}
