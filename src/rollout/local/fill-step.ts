/** A plan as the arrays a device takes. Pure. */
import { blockSize } from './blocks.js'
import type { Plan, Sequence } from './scheduler.js'
import { padded, type StepBatch } from './step.js'

/** What is drawn after a row. */
export interface Draw {
  /** The row's position in its sequence. */
  position: number
  temperature: number
  topK: number
  topP: number
  minP: number
  key: readonly [number, number]
  /** -1: draw a token. Otherwise its log-probability is wanted. */
  forced: number
  /** Ids that cannot be drawn, ascending. */
  banned: Int32Array
  /** -1: neither rank nor alternatives. */
  top: number
}

export interface StepSource<S extends Sequence> {
  /** Writes the tokens of this work at `at`. */
  tokens(work: Plan<S>['work'][number], into: Int32Array, at: number): void
  /** The draws after rows of this work, in the order of their positions. */
  draws(work: Plan<S>['work'][number]): readonly Draw[]
}

export function fillStep<S extends Sequence>(plan: Plan<S>, source: StepSource<S>): StepBatch {
  const { work, copies } = plan
  let count = 0
  let tableWidth = 1
  for (const item of work) {
    count += item.count
    tableWidth = Math.max(tableWidth, item.of.blocks.length)
  }
  const rows = padded(count)
  const batch: StepBatch = {
    ids: new Int32Array(rows),
    positions: new Int32Array(rows),
    sequences: new Int32Array(rows).fill(-1),
    slots: new Int32Array(rows).fill(-1),
    table: new Int32Array(work.length * tableWidth),
    tableWidth,
    copyFrom: Int32Array.from({ length: copies.length / 2 }, (_, i) => copies[2 * i]!),
    copyTo: Int32Array.from({ length: copies.length / 2 }, (_, i) => copies[2 * i + 1]!),
    draws: {
      count: 0,
      rows: new Int32Array(0),
      settings: new Float64Array(0),
      streams: new Int32Array(0),
      forced: new Int32Array(0),
      bannedOffsets: new Int32Array(0),
      bannedIds: new Int32Array(0),
      top: -1,
    },
  }
  const { ids, positions, sequences, slots } = batch
  const draws: { row: number; draw: Draw }[] = []
  let row = 0
  for (const [k, item] of work.entries()) {
    const { of, start } = item
    const end = start + item.count
    batch.table.set(of.blocks, k * tableWidth)
    for (const draw of source.draws(item)) draws.push({ row: row + draw.position - start, draw })
    // Plain loops, block by block: a step has tens of thousands of rows.
    source.tokens(item, ids, row)
    sequences.fill(k, row, row + item.count)
    for (let block = Math.floor(start / blockSize), position = start; position < end; block++) {
      const next = Math.min(end, (block + 1) * blockSize)
      const shift = (of.blocks[block]! - block) * blockSize
      for (; position < next; position++, row++) {
        positions[row] = position
        slots[row] = position + shift
      }
    }
  }
  fillDraws(batch, draws)
  return batch
}

function fillDraws({ draws }: StepBatch, wanted: readonly { row: number; draw: Draw }[]): void {
  const count = wanted.length
  if (count === 0) return
  draws.count = count
  draws.rows = new Int32Array(padded(count))
  draws.settings = new Float64Array(count * 4)
  draws.streams = new Int32Array(count * 3)
  draws.forced = new Int32Array(count)
  draws.bannedOffsets = new Int32Array(count + 1)
  draws.bannedIds = new Int32Array(wanted.reduce((sum, { draw }) => sum + draw.banned.length, 0))
  let at = 0
  for (const [i, { row, draw }] of wanted.entries()) {
    draws.rows[i] = row
    draws.settings[4 * i] = draw.temperature
    draws.settings[4 * i + 1] = draw.topK
    draws.settings[4 * i + 2] = draw.topP
    draws.settings[4 * i + 3] = draw.minP
    draws.streams[3 * i] = draw.key[0]
    draws.streams[3 * i + 1] = draw.key[1]
    draws.streams[3 * i + 2] = draw.position
    draws.forced[i] = draw.forced
    draws.bannedIds.set(draw.banned, at)
    at += draw.banned.length
    draws.bannedOffsets[i + 1] = at
    draws.top = Math.max(draws.top, draw.top)
  }
}
