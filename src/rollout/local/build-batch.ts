/** Writes a plan as the arrays of a device. Pure. */
import { blockSize } from './blocks.js'
import type { CachedSequence } from './cached-sequence.js'
import type { Plan } from './scheduler.js'
import { padded, type StepBatch } from './step.js'

/** How a token is sampled from a row. */
export interface SamplingRow {
  /** The row's index in its sequence. */
  position: number
  /** Of the random number. */
  counter: number
  temperature: number
  topK: number
  topP: number
  minP: number
  key: readonly [number, number]
  /** The token to score; -1: sample one. */
  targetId: number
  /** Ids that cannot be sampled, ascending. */
  forbidden: Int32Array
  /** -1: neither rank nor alternatives. */
  top: number
}

export interface BatchSource<S extends CachedSequence> {
  /** Writes the tokens of this work and their rope positions at `at`. */
  tokens(work: Plan<S>['scheduled'][number], into: Int32Array, at: number): void
  ropePositions(work: Plan<S>['scheduled'][number], into: Int32Array, at: number): void
  /** The sampling rows of this work, in the order of their positions. */
  samplingRows(work: Plan<S>['scheduled'][number]): readonly SamplingRow[]
}

export function buildBatch<S extends CachedSequence>(plan: Plan<S>, source: BatchSource<S>): StepBatch {
  const { scheduled, copies } = plan
  let count = 0
  let blockTableWidth = 1
  for (const item of scheduled) {
    count += item.count
    blockTableWidth = Math.max(blockTableWidth, item.of.blocks.length)
  }
  const rows = padded(count)
  const batch: StepBatch = {
    ids: new Int32Array(rows),
    ropePositions: new Int32Array(rows),
    kvPositions: new Int32Array(rows),
    sequences: new Int32Array(rows).fill(-1),
    slotMapping: new Int32Array(rows).fill(-1),
    blockTable: new Int32Array(scheduled.length * blockTableWidth),
    blockTableWidth,
    copyFrom: Int32Array.from({ length: copies.length / 2 }, (_, i) => copies[2 * i]!),
    copyTo: Int32Array.from({ length: copies.length / 2 }, (_, i) => copies[2 * i + 1]!),
    samplingRows: {
      count: 0,
      rows: new Int32Array(0),
      settings: new Float64Array(0),
      streams: new Int32Array(0),
      targetIds: new Int32Array(0),
      forbiddenOffsets: new Int32Array(0),
      forbiddenIds: new Int32Array(0),
      top: -1,
    },
  }
  const { ids, ropePositions, kvPositions, sequences, slotMapping } = batch
  const samplingRows: { row: number; samplingRow: SamplingRow }[] = []
  let row = 0
  for (const [k, item] of scheduled.entries()) {
    const { of, start } = item
    const end = start + item.count
    batch.blockTable.set(of.blocks, k * blockTableWidth)
    for (const samplingRow of source.samplingRows(item))
      samplingRows.push({ row: row + samplingRow.position - start, samplingRow })
    // Plain loops, block by block: a step has tens of thousands of rows.
    source.tokens(item, ids, row)
    source.ropePositions(item, ropePositions, row)
    sequences.fill(k, row, row + item.count)
    for (let block = Math.floor(start / blockSize), position = start; position < end; block++) {
      const next = Math.min(end, (block + 1) * blockSize)
      const shift = (of.blocks[block]! - block) * blockSize
      for (; position < next; position++, row++) {
        kvPositions[row] = position
        slotMapping[row] = position + shift
      }
    }
  }
  fillSamplingRows(batch, samplingRows)
  return batch
}

function fillSamplingRows(
  { samplingRows }: StepBatch,
  wanted: readonly { row: number; samplingRow: SamplingRow }[],
): void {
  const count = wanted.length
  if (count === 0) return
  samplingRows.count = count
  samplingRows.rows = new Int32Array(padded(count))
  samplingRows.settings = new Float64Array(count * 4)
  samplingRows.streams = new Int32Array(count * 3)
  samplingRows.targetIds = new Int32Array(count)
  samplingRows.forbiddenOffsets = new Int32Array(count + 1)
  samplingRows.forbiddenIds = new Int32Array(
    wanted.reduce((sum, { samplingRow }) => sum + samplingRow.forbidden.length, 0),
  )
  let at = 0
  for (const [i, { row, samplingRow }] of wanted.entries()) {
    samplingRows.rows[i] = row
    samplingRows.settings[4 * i] = samplingRow.temperature
    samplingRows.settings[4 * i + 1] = samplingRow.topK
    samplingRows.settings[4 * i + 2] = samplingRow.topP
    samplingRows.settings[4 * i + 3] = samplingRow.minP
    samplingRows.streams[3 * i] = samplingRow.key[0]
    samplingRows.streams[3 * i + 1] = samplingRow.key[1]
    samplingRows.streams[3 * i + 2] = samplingRow.counter
    samplingRows.targetIds[i] = samplingRow.targetId
    samplingRows.forbiddenIds.set(samplingRow.forbidden, at)
    at += samplingRow.forbidden.length
    samplingRows.forbiddenOffsets[i + 1] = at
    samplingRows.top = Math.max(samplingRows.top, samplingRow.top)
  }
}
