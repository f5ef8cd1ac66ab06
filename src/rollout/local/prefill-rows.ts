/**
 * The order of rows in a mixed step on a CUDA device: first the beginnings of sequences, which attend only to themselves and share one
 * attention kernel; then single rows, which read their sequences' blocks. Pure.
 */
import type { StepBatch } from './step.js'
import type { StepMedia } from './step-media.js'

interface PrefillRows {
  ids: Int32Array
  ropePositions: Int32Array
  slotMapping: Int32Array
  /** Where each beginning starts, and the end of the last; the first rows of the step. */
  cuSeqlens: Int32Array
  /** Rows of the longest beginning. */
  longest: number
  /** The other rows: rows of the block table, and positions in their sequences. */
  paged: { sequences: Int32Array; kvPositions: Int32Array }
  /** Each sampling row's row in this order. */
  wanted: Int32Array
  media: StepMedia | undefined
}

export function prefillRows(batch: StepBatch): PrefillRows {
  const { sequences, kvPositions, samplingRows } = batch
  // Copies whole ranges: a step has tens of thousands of rows.
  const runs: { start: number; end: number }[] = []
  for (let start = 0, end = 0; start < sequences.length; start = end) {
    const sequence = sequences[start]!
    while (end < sequences.length && sequences[end] === sequence) end++
    if (sequence >= 0) runs.push({ start, end })
  }
  const begins = (run: { start: number; end: number }): boolean =>
    run.end - run.start > 1 && kvPositions[run.start] === 0
  const first = runs.filter(begins)
  const rest = runs.filter(run => !begins(run))
  const cuSeqlens = new Int32Array(first.length + 1)
  let longest = 0
  for (const [i, { start, end }] of first.entries()) {
    cuSeqlens[i + 1] = cuSeqlens[i]! + end - start
    longest = Math.max(longest, end - start)
  }
  const fresh = cuSeqlens[first.length]!
  const ordered = [...first, ...rest]
  /** How far each row moves. */
  const shift = new Int32Array(sequences.length)
  let count = 0
  for (const { start, end } of ordered) {
    shift.fill(count - start, start, end)
    count += end - start
  }
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
    ropePositions: pick(batch.ropePositions),
    slotMapping: pick(batch.slotMapping),
    cuSeqlens,
    longest,
    paged: { sequences: pick(sequences, rest), kvPositions: pick(kvPositions, rest) },
    wanted: samplingRows.rows.subarray(0, samplingRows.count).map(row => row + shift[row]!),
    media: batch.media && movedMedia(batch.media, pick, shift),
  }
}

function movedMedia(media: StepMedia, pick: (values: Int32Array) => Int32Array, shift: Int32Array): StepMedia {
  const axes = [0, 1, 2].map(axis => pick(media.ropePositions.subarray(axis * shift.length, (axis + 1) * shift.length)))
  const ropePositions = new Int32Array(3 * axes[0]!.length)
  for (const [axis, positions] of axes.entries()) ropePositions.set(positions, axis * positions.length)
  return { ...media, ropePositions, rows: media.rows.map(row => row + shift[row]!) }
}
