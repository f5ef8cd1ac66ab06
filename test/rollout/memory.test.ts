import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { type DeviceMemory, LocalEngine, type LocalEngineOptions, type Outcome } from '../../src/rollout/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { collect, completed, loadModel, numbers, randomIds } from '../support/generation.js'

let model: LocalModel<'language'>
beforeAll(async () => {
  model = await loadModel()
})
afterAll(() => model.dispose())

const engines: LocalEngine[] = []
function open(options: LocalEngineOptions, over = model): LocalEngine {
  const engine = new LocalEngine(over, { eosIds: [2], ...options })
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

/** A device whose memory is what a test says. */
const holding = (bytes: number): DeviceMemory & { bytes: number } => ({
  bytes,
  freeBytes() {
    return this.bytes
  },
})
function blockBytes(): number {
  const { layers, kvHeads, headDim } = model.config.decoder
  return layers * 2 * kvHeads * headDim * 16 * 4
}
const sampling = { seed: 1, maxNewTokens: 100, ignoreEos: true }
const promptIds = randomIds(numbers(3), 20)

test('the KV cache has the size that was given, or its share of what is free when it is taken', async () => {
  const memory = holding(100 * blockBytes())
  expect(open({ memory, cacheBytes: 30 * blockBytes() }).counts.blocks).toBe(30)
  const engine = open({ memory, cacheShare: 0.4 })
  expect(engine.counts.blocks).toBe(40)
  await engine.sleep()
  expect(engine.counts.blocks).toBe(0)
  memory.bytes = 50 * blockBytes()
  await engine.wake()
  expect(engine.counts.blocks).toBe(20)
  // More than the sequences can fill is not taken.
  expect(open({ memory: holding(1e12), cacheShare: 1, maxSequences: 2, maxLength: 64 }).counts.blocks).toBe(2 * 5)
})

test('a size that means nothing is refused', () => {
  const wrong: LocalEngineOptions[] = [
    { cacheBytes: 1e6, cacheShare: 0.5 },
    { cacheShare: 0 },
    { cacheShare: 1.5 },
    { cacheBytes: Number.NaN },
    { cacheBytes: blockBytes() },
  ]
  const before = memoryUse().liveTensors
  for (const options of wrong)
    expect(() => new LocalEngine(model, options), JSON.stringify(options)).toThrow(RangeError)
  expect(memoryUse().liveTensors).toBe(before)
})

test('requests that no longer fit after wake are outcomes; the others go on', async () => {
  const memory = holding(40 * blockBytes())
  const engine = open({ memory, cacheShare: 1 })
  const whole = (await collect(engine, [{ id: 'small', promptIds, sampling }])).get('small/0')!
  const outcomes: Outcome[] = []
  const collecting = (async () => {
    const large = { ...sampling, maxNewTokens: 200 }
    const requests = [
      { id: 'large', promptIds, n: 2, sampling: large },
      { id: 'small', promptIds, sampling },
    ]
    for await (const outcome of engine.generate(requests)) outcomes.push(outcome)
  })()
  await engine.sleep()
  memory.bytes = 10 * blockBytes()
  await engine.wake()
  await collecting
  const kinds = outcomes.map(outcome => [
    outcome.requestId,
    outcome.kind === 'completed' ? 'completed' : outcome.reason,
  ])
  expect(kinds.sort()).toEqual([
    ['large', 'too-large-for-memory'],
    ['large', 'too-large-for-memory'],
    ['small', 'completed'],
  ])
  const small = outcomes.find(({ requestId }) => requestId === 'small')
  expect([...completed(small).responseIds]).toEqual([...whole.responseIds])
  // What comes later is measured by what there is now.
  for await (const outcome of engine.generate([{ id: 'x', promptIds, sampling: { ...sampling, maxNewTokens: 200 } }]))
    expect(outcome).toMatchObject({ kind: 'rejected', reason: 'too-large-for-memory' })
})

test('a cache that finds no room leaves the engine asleep; later it wakes', async () => {
  const memory = holding(40 * blockBytes())
  const engine = open({ memory, cacheShare: 1 })
  const collecting = collect(engine, [{ id: 'a', promptIds, sampling }])
  await engine.sleep()
  memory.bytes = 0
  await expect(engine.wake()).rejects.toThrow('is too small')
  memory.bytes = 40 * blockBytes()
  await engine.wake()
  expect((await collecting).get('a/0')!.responseIds).toHaveLength(100)
})

test('after sleep and offload of one model another has the card, where both do not fit', async () => {
  const other = await loadModel()
  const weights = 200 * blockBytes()
  const cache = 30 * blockBytes()
  /** Holds one model and its cache, and little more. */
  const card = 240 * blockBytes()
  const users = new Map<LocalModel<'language'>, LocalEngine | undefined>([
    [model, undefined],
    [other, undefined],
  ])
  const memory: DeviceMemory = {
    freeBytes: () => {
      let free = card
      for (const [each, engine] of users) {
        if (!each.offloaded) free -= weights
        free -= (engine?.counts.blocks ?? 0) * blockBytes()
      }
      return Math.max(0, free)
    },
  }
  await other.offload()
  const options = { memory, cacheShare: 0.8 }
  const first = open(options)
  users.set(model, first)
  expect(first.counts.blocks * blockBytes()).toBeGreaterThan(cache)
  // Its weights are away.
  expect(() => new LocalEngine(other, options)).toThrow('offloaded')
  await other.reload()
  expect(() => new LocalEngine(other, options)).toThrow('is too small')
  await first.sleep()
  await model.offload()
  const second = open(options, other)
  users.set(other, second)
  expect(second.counts.blocks).toBe(32)
  expect((await collect(second, [{ id: 'a', promptIds, sampling }])).get('a/0')!.finishReason).toBe('length')
  await expect(first.wake()).rejects.toThrow('offloaded')
  await second.sleep()
  await other.offload()
  await model.reload()
  await first.wake()
  expect((await collect(first, [{ id: 'a', promptIds, sampling }])).get('a/0')!.finishReason).toBe('length')
  await second.close()
  other.dispose()
})

test('a model that was offloaded under its engine: the samples fail and say why, and the engine goes on after reload', async () => {
  const engine = open({})
  await model.offload()
  for await (const outcome of engine.generate([{ id: 'a', promptIds, n: 2, sampling }]))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'engine', message: expect.stringContaining('offloaded') })
  await model.reload()
  expect((await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!.finishReason).toBe('length')
})
