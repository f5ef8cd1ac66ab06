import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { hasOnePosition } from '../../src/rollout/local/multi-step.js'
import type { StepBatch, StepDevice } from '../../src/rollout/local/step.js'
import { openStepDevice } from '../../src/rollout/local/step-device.js'
import { loadModel, numbers, randomIds } from '../support/generation.js'

let model: LocalModel<'language'>
let device: StepDevice
beforeAll(async () => {
  model = await loadModel()
  device = openStepDevice(model, model.parts, { maxSequences: 4, maxLength: 128 })
  device.allocate(2 ** 20)
})
afterAll(() => {
  device.dispose()
  model.dispose()
})

const length = 20
const ids = randomIds(numbers(5), length)
const iota = Int32Array.from({ length }, (_, i) => i)

/** A prompt of 20 tokens in the blocks 3 and 1, after which a token is drawn. */
function prompt(change: Partial<StepBatch> & { counter?: number } = {}): StepBatch {
  const { counter = length - 1, ...rest } = change
  return {
    ids,
    ropePositions: iota,
    kvPositions: iota,
    sequences: new Int32Array(length),
    slotMapping: iota.map(i => (i < 16 ? 3 * 16 + i : 16 + i - 16)),
    blockTable: Int32Array.of(3, 1),
    blockTableWidth: 2,
    copyFrom: new Int32Array(0),
    copyTo: new Int32Array(0),
    samplingRows: {
      count: 1,
      rows: Int32Array.of(length - 1, 0, 0, 0),
      settings: Float64Array.of(1, -1, 1, 0),
      streams: Int32Array.of(17, 4, counter),
      targetIds: Int32Array.of(-1),
      forbiddenOffsets: Int32Array.of(0, 0),
      forbiddenIds: new Int32Array(0),
      top: 0,
    },
    ...rest,
  }
}

test('rope turns by its own positions: only their distances count, and neither slots nor random numbers follow them', async () => {
  const plain = await device.step(prompt())
  const shifted = await device.step(prompt({ ropePositions: iota.map(i => i + 70) }))
  expect([...shifted.ids]).toEqual([...plain.ids])
  expect(shifted.raw[0]).toBeCloseTo(plain.raw[0]!, 4)
  // The cache holds keys that were turned further: a next token goes on from there, in the next slot and with the next number.
  const next = (ropePosition: number): Promise<{ ids: Int32Array; raw: Float32Array }> => {
    const one = (value: number): Int32Array => Int32Array.of(value, 0, 0, 0)
    const { samplingRows, ...rest } = prompt()
    return device.step({
      ...rest,
      ids: one(plain.ids[0]!),
      ropePositions: one(ropePosition),
      kvPositions: one(length),
      sequences: Int32Array.of(0, -1, -1, -1),
      slotMapping: Int32Array.of(16 + length - 16, -1, -1, -1),
      samplingRows: { ...samplingRows, rows: one(0), streams: Int32Array.of(17, 4, length) },
    })
  }
  const after = await next(length + 70)
  await device.step(prompt())
  const plainAfter = await next(length)
  expect([...after.ids]).toEqual([...plainAfter.ids])
  expect(after.raw[0]).toBeCloseTo(plainAfter.raw[0]!, 4)
})

test('distances that differ give other numbers; the random number is the counter’s', async () => {
  const target = { ...prompt().samplingRows, targetIds: Int32Array.of(7) }
  const plain = await device.step(prompt({ samplingRows: target }))
  const halved = await device.step(prompt({ samplingRows: target, ropePositions: iota.map(i => i >> 1) }))
  expect(Math.abs(halved.raw[0]! - plain.raw[0]!)).toBeGreaterThan(1e-3)
  const drawn = async (counter: number): Promise<number> => (await device.step(prompt({ counter }))).ids[0]!
  const found = new Set<number>()
  for (let counter = 0; counter < 12; counter++) found.add(await drawn(counter))
  expect(found.size).toBeGreaterThan(3)
})

test('steps in a row count one position: where they differ a device is asked step by step', () => {
  const one = (value: number): Int32Array => Int32Array.of(value, 0, 0, 0)
  const { samplingRows, ...rest } = prompt()
  const batch: StepBatch = {
    ...rest,
    ropePositions: one(9),
    kvPositions: one(9),
    samplingRows: { ...samplingRows, rows: one(0), streams: Int32Array.of(17, 4, 9) },
  }
  expect(hasOnePosition(batch)).toBe(true)
  expect(hasOnePosition({ ...batch, ropePositions: one(5) })).toBe(false)
  const { samplingRows: drawn } = batch
  expect(hasOnePosition({ ...batch, samplingRows: { ...drawn, streams: Int32Array.of(17, 4, 8) } })).toBe(false)
})
