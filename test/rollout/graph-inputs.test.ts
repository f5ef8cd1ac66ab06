import { describe, expect, test } from 'vitest'
import { planAttention } from '../../src/kernels/paged-attention.js'
import { planSplit } from '../../src/kernels/split-k-linear.js'
import {
  bucketFor,
  decodeLayout,
  emptyDecodeInputs,
  fillDecodeInputs,
} from '../../src/rollout/local/decode-graph-inputs.js'
import { hasFilters, packArrays } from '../../src/rollout/local/graph-inputs.js'
import {
  emptyMixed,
  fillMixed,
  mixedLayout,
  mixedLayoutFor,
  mixedWords,
} from '../../src/rollout/local/mixed-graph-inputs.js'
import { prefillRows } from '../../src/rollout/local/prefill-rows.js'
import type { SamplingRows, StepBatch } from '../../src/rollout/local/step.js'

const samplingRows = (rows: number[]): SamplingRows => ({
  count: rows.length,
  rows: Int32Array.from(rows),
  settings: Float64Array.from(rows.flatMap((_, i) => [0.5 + i, -1, 1, 0])),
  streams: Int32Array.from(rows.flatMap((_, i) => [10 * i, 10 * i + 1, 100 + i])),
  targetIds: new Int32Array(rows.length).fill(-1),
  forbiddenOffsets: Int32Array.from({ length: rows.length + 1 }, (_, i) => i),
  forbiddenIds: Int32Array.from(rows, (_, i) => 5 + i),
  top: -1,
})

test('a batch is filled up to the next size there is a graph for', () => {
  expect([1, 4, 5, 64, 65, 200, 1024, 1025].map(bucketFor)).toEqual([4, 4, 8, 64, 96, 256, 1024, 1536])
  for (let rows = 1; rows < 2000; rows += 7) {
    expect(bucketFor(rows)).toBeGreaterThanOrEqual(rows)
    // Every part starts at 16 bytes.
    for (const part of Object.values(decodeLayout(bucketFor(rows))))
      if (typeof part === 'object') expect(part.at % 4).toBe(0)
  }
})

test('the state has each part in its place, and rows that are not there have no position', () => {
  const layout = decodeLayout(4)
  const batch: StepBatch = {
    ids: Int32Array.of(11, 12, 13, 0),
    ropePositions: Int32Array.of(20, 3, 16, 0),
    kvPositions: Int32Array.of(20, 3, 16, 0),
    sequences: Int32Array.of(0, 1, 2, -1),
    slotMapping: Int32Array.of(36, 51, 80, -1),
    blockTable: Int32Array.of(1, 2, 3, 0, 4, 5),
    blockTableWidth: 2,
    copyFrom: new Int32Array(0),
    copyTo: new Int32Array(0),
    samplingRows: samplingRows([0, 1, 2]),
  }
  const state = fillDecodeInputs(layout, batch, Int32Array.of(7, 8, 9))
  const part = (name: 'ids' | 'positions' | 'budgets' | 'left' | 'keys' | 'forbiddenOffsets' | 'settings') =>
    state.slice(layout[name].at, layout[name].at + layout[name].words)
  expect(state[layout.width.at]).toBe(2)
  expect([...part('ids')]).toEqual([11, 12, 13, 0])
  expect([...part('positions')]).toEqual([20, 3, 16, -1])
  expect([...part('budgets')]).toEqual([7, 8, 9, 0])
  expect([...part('left')]).toEqual([7, 8, 9, 0])
  expect([...part('keys')]).toEqual([0, 1, 10, 11, 20, 21, 0, 0])
  expect([...part('forbiddenOffsets')].slice(0, 5)).toEqual([0, 1, 2, 3, 3])
  expect([...new Float32Array(part('settings').buffer)].slice(0, 8)).toEqual([0.5, -1, 1, 0, 1.5, -1, 1, 0])
  expect([...state.slice(layout.blockTable)]).toEqual([1, 2, 3, 0, 4, 5])
  const empty = emptyDecodeInputs(layout)
  expect([...empty.slice(layout.positions.at, layout.positions.at + 4)]).toEqual([-1, -1, -1, -1])
  expect(() => fillDecodeInputs(decodeLayout(2), batch, new Int32Array(3))).toThrow(RangeError)
})

test('filters of greedy rows do not count', () => {
  const settings = (...values: number[]) => ({ ...samplingRows([0]), settings: Float64Array.from(values) })
  expect(hasFilters(settings(1, -1, 1, 0))).toBe(false)
  expect(hasFilters(settings(0, 5, 0.5, 0.1))).toBe(false)
  for (const one of [settings(1, 5, 1, 0), settings(1, -1, 0.9, 0), settings(0.5, -1, 1, 0.1)])
    expect(hasFilters(one)).toBe(true)
})

describe('steps with prompts as graphs', () => {
  // Sequences 0: a next token; 1: a beginning, which draws; 2: more of a prompt, which does not.
  const batch: StepBatch = {
    ids: Int32Array.of(1, 20, 21, 22, 30, 31, 0, 0),
    // As of a sequence with an image in it: turned less far than it is long.
    ropePositions: Int32Array.of(9, 0, 1, 2, 6, 7, 0, 0),
    kvPositions: Int32Array.of(9, 0, 1, 2, 16, 17, 0, 0),
    sequences: Int32Array.of(0, 1, 1, 1, 2, 2, -1, -1),
    slotMapping: Int32Array.of(9, 16, 17, 18, 48, 49, -1, -1),
    blockTable: Int32Array.of(0, 0, 1, 0, 2, 3),
    blockTableWidth: 2,
    copyFrom: new Int32Array(0),
    copyTo: new Int32Array(0),
    samplingRows: samplingRows([0, 3]),
  }
  const limits = { rows: 4096, samplingRows: 64, keys: 1000, top: 5 }

  test('a batch is filled up to the next size, and is none of theirs beyond a limit', () => {
    expect(mixedLayoutFor(batch, limits)).toMatchObject({ rows: 32, samplingRows: 32 })
    expect(mixedLayoutFor(batch, { ...limits, samplingRows: 16 })).toMatchObject({ rows: 32, samplingRows: 16 })
    expect(mixedLayoutFor({ ...batch, samplingRows: samplingRows([]) }, limits)).toMatchObject({
      rows: 32,
      samplingRows: 0,
    })
    const many = samplingRows(Array.from({ length: 33 }, (_, i) => i))
    expect(mixedLayoutFor({ ...batch, samplingRows: many }, limits)).toMatchObject({ samplingRows: 64 })
    expect(mixedLayoutFor({ ...batch, samplingRows: many }, { ...limits, samplingRows: 32 })).toBeUndefined()
    expect(mixedLayoutFor(batch, { ...limits, rows: 31 })).toBeUndefined()
    // Tokens beside a samplingRow are found by a program.
    expect(mixedLayoutFor({ ...batch, samplingRows: { ...batch.samplingRows, top: 5 } }, limits)).toBeDefined()
    expect(mixedLayoutFor({ ...batch, samplingRows: { ...batch.samplingRows, top: 6 } }, limits)).toBeUndefined()
    // Rows behind the first of their sequence: positions 1, 2 and 17.
    expect(mixedLayoutFor(batch, { ...limits, keys: 2 + 3 + 18 })).toBeDefined()
    expect(mixedLayoutFor(batch, { ...limits, keys: 2 + 3 + 17 })).toBeUndefined()
    const long = new Int32Array(7000)
    expect(mixedLayoutFor({ ...batch, sequences: long, kvPositions: long }, { ...limits, rows: 1e6 })).toBeUndefined()
  })

  test('every part starts at 16 bytes, and the longest array has room for any', () => {
    for (let rows = 1; rows < 6000; rows += 97) {
      const sequences = new Int32Array(rows).fill(-1)
      const kvPositions = new Int32Array(rows)
      const layout = mixedLayoutFor({ ...batch, sequences, kvPositions }, { ...limits, rows: 1e4, keys: 1e9 })!
      expect(layout.rows).toBeGreaterThanOrEqual(rows)
      for (const part of Object.values(layout)) if (typeof part === 'object') expect(part.at % 4).toBe(0)
      expect(layout.blockTable + 10).toBeLessThanOrEqual(mixedWords(limits, 10))
    }
  })

  test('the array has each part in its place, and what is not there has no position', () => {
    const layout = mixedLayout(8, 4)
    const state = fillMixed(layout, batch)
    const part = (name: Exclude<keyof typeof layout, 'rows' | 'samplingRows' | 'blockTable'>) => [
      ...state.slice(layout[name].at, layout[name].at + layout[name].words),
    ]
    expect(state[layout.width.at]).toBe(2)
    expect(part('ids')).toEqual([1, 20, 21, 22, 30, 31, 0, 0])
    expect(part('ropePositions').slice(0, 6)).toEqual([9, 0, 1, 2, 6, 7])
    expect(part('kvPositions')).toEqual([9, 0, 1, 2, 16, 17, -1, -1])
    expect(part('slotMapping')).toEqual([9, 16, 17, 18, 48, 49, -1, -1])
    expect([...state.slice(layout.sequences.at, layout.sequences.at + 6)]).toEqual([0, 1, 1, 1, 2, 2])
    expect(part('wanted')).toEqual([0, 3, 0, 0])
    expect(part('samplingPositions')).toEqual([100, 101, -1, -1])
    expect(part('targetIds').slice(0, 2)).toEqual([-1, -1])
    expect(part('keys')).toEqual([0, 1, 10, 11, 0, 0, 0, 0])
    const { at, words } = layout.forbiddenOffsets
    expect([...state.slice(at, at + words)]).toEqual([0, 1, 2, 2, 2, 2, 2, 2])
    expect([...new Float32Array(state.buffer, 4 * layout.settings.at, 8)]).toEqual([0.5, -1, 1, 0, 1.5, -1, 1, 0])
    expect([...state.slice(layout.blockTable)]).toEqual([...batch.blockTable])
    expect(() => fillMixed(mixedLayout(4, 4), batch)).toThrow(RangeError)
    expect(() => fillMixed(mixedLayout(8, 1), batch)).toThrow(RangeError)
  })

  test('a graph is made of rows that are not there', () => {
    const layout = mixedLayout(8, 4)
    const state = emptyMixed(layout)
    for (const { at, words } of [layout.kvPositions, layout.slotMapping, layout.samplingPositions])
      expect([...state.slice(at, at + words)]).toEqual(new Array(words).fill(-1))
    // A step that draws nothing has no part for it.
    expect(fillMixed(mixedLayout(8, 0), { ...batch, samplingRows: samplingRows([]) })).toHaveLength(4 + 5 * 8 + 4 + 6)
  })
})

test('beginnings of sequences come first, and draws follow their rows', () => {
  // Sequences 0: a next token; 1: a beginning; 2: more of a prompt; 3: a prompt of one token; 4: a beginning.
  const batch: StepBatch = {
    ids: Int32Array.of(1, 20, 21, 22, 30, 31, 40, 50, 51, 0),
    ropePositions: Int32Array.of(9, 0, 1, 1, 6, 7, 0, 0, 1, 0),
    kvPositions: Int32Array.of(9, 0, 1, 2, 16, 17, 0, 0, 1, 0),
    sequences: Int32Array.of(0, 1, 1, 1, 2, 2, 3, 4, 4, -1),
    slotMapping: Int32Array.of(9, 16, 17, 18, 48, 49, 64, 80, 81, -1),
    blockTable: new Int32Array(10),
    blockTableWidth: 2,
    copyFrom: new Int32Array(0),
    copyTo: new Int32Array(0),
    samplingRows: samplingRows([0, 3, 6, 8]),
  }
  const rows = prefillRows(batch)
  expect([...rows.ids]).toEqual([20, 21, 22, 50, 51, 1, 30, 31, 40])
  expect([...rows.ropePositions]).toEqual([0, 1, 1, 0, 1, 9, 6, 7, 0])
  expect([...rows.slotMapping]).toEqual([16, 17, 18, 80, 81, 9, 48, 49, 64])
  expect([...rows.cuSeqlens]).toEqual([0, 3, 5])
  expect(rows.longest).toBe(3)
  expect([...rows.paged.sequences]).toEqual([0, 2, 2, 3])
  expect([...rows.paged.kvPositions]).toEqual([9, 16, 17, 0])
  expect([...rows.wanted]).toEqual([5, 2, 8, 4])
})

test('products of few rows are divided, where their parts stay long', () => {
  expect(planSplit(64, 896, 4864)).toBe(4)
  expect(planSplit(512, 896, 4864)).toBe(2)
  expect(planSplit(64, 896, 896)).toBe(2)
  expect(planSplit(1024, 896, 4864)).toBe(1)
  expect(planSplit(64, 64, 176)).toBe(1)
  // Each part is made of whole vectors.
  for (let intermediate = 8; intermediate < 20000; intermediate += 72)
    expect(intermediate % (8 * planSplit(4, 896, intermediate)) || 0).toBe(0)
})

test('few long sequences are split, many are not', () => {
  const shape = { heads: 14, kvHeads: 2, headDim: 64 }
  expect(planAttention(256, 256, shape).splits).toBe(1)
  expect(planAttention(256, 4096, shape).splits).toBe(1)
  expect(planAttention(16, 4096, shape).splits).toBe(8)
  expect(planAttention(1, 8192, shape).splits).toBeGreaterThan(4)
  expect(planAttention(1024, 8192, shape).splits).toBe(1)
  expect(planAttention(1024, 256, shape).warps).toBe(2)
  // What warps found is joined in 48 KiB.
  for (const headDim of [16, 32, 64, 96, 128])
    for (const heads of [2, 14, 32, 64])
      for (const rows of [4, 256, 1024]) {
        const { warps } = planAttention(rows, 1024, { heads, kvHeads: 2, headDim })
        const tile = heads / 2 > 8 ? 16 : 8
        expect(warps * tile * headDim * 4 + tile * (headDim + 8) * 2 + 1024).toBeLessThan(48 * 1024)
      }
})

test('arrays that go together keep their values, start at 16 bytes, and an empty one has a place of its own', () => {
  const arrays = [Int32Array.of(1, -2, 3), new Int32Array(0), Float32Array.of(0.5, -1.25), Int32Array.of(9, 8, 7, 6, 5)]
  const { words, parts } = packArrays(arrays)
  let end = 0
  for (const [i, array] of arrays.entries()) {
    const { at, words: count } = parts[i]!
    expect(at % 4).toBe(0)
    expect(at).toBeGreaterThanOrEqual(end)
    expect(count).toBe(array.length || 4)
    end = at + count
    const found = words.slice(at, at + array.length)
    expect(array instanceof Float32Array ? new Float32Array(found.buffer) : found).toEqual(array)
  }
  expect(words.length).toBeGreaterThanOrEqual(end)
})
