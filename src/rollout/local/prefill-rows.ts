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
  const fresh = offsets[first.length]!
  // Plain loops over ranges: a step has tens of thousands of rows.
  const ordered = [...first, ...rest]
  const place = new Int32Array(sequences.length)
  let count = 0
  for (const { start, end } of ordered) for (let row = start; row < end; row++) place[row] = count++
  const pick = (values: Int32Array, which = ordered): Int32Array => {
    const picked = new Int32Array(which === ordered ? count : count - fresh)
    let at = 0
    for (const { start, end } of which) {
      picked.set(values.subarray(start, end), at)
      at += end - start
    }
    return picked
  }
  return {
    ids: pick(batch.ids),
    positions: pick(positions),
    slots: pick(batch.slots),
    offsets,
    longest,
    paged: { sequences: pick(sequences, rest), positions: pick(positions, rest) },
    wanted: Int32Array.from({ length: draws.count }, (_, i) => place[draws.rows[i]!]!),
  }
}
