import { describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { LocalEngine, type Sample } from '../../src/rollout/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { collect, completed, loadModel, numbers, randomIds } from '../support/generation.js'
import { fixture } from '../support/models.js'

const sampling = { seed: 1, temperature: 0, maxNewTokens: 60, ignoreEos: true }
const promptIds = randomIds(numbers(2), 15)

/** A step large enough that another token becomes the likeliest. */
async function train(model: LocalModel<'language'>): Promise<void> {
  await model.forwardBackward([randomIds(numbers(9), 30)], outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
  )
  await model.step({ lr: 0.02 })
}

test('an update between requests: the new weights answer, and say so', async () => {
  const model = await loadModel()
  const engine = new LocalEngine(model)
  const before = (await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!
  expect(before.versions).toEqual([{ version: 0, start: 0, end: 60 }])
  await train(model)
  await engine.updateWeights({ version: 41 })
  const after = (await collect(engine, [{ id: 'b', promptIds, sampling }])).get('b/0')!
  expect(after.policyVersion).toBe(41)
  expect([...after.responseIds]).not.toEqual([...before.responseIds])
  const [score] = await model.score([Int32Array.from([...promptIds, ...after.responseIds])], { from: promptIds.length })
  for (const [t, value] of after.logprobs.raw!.entries()) expect(value).toBeCloseTo(score!.logprobs[t]!, 4)
  await train(model)
  const unnamed = (await collect(engine, [{ id: 'c', promptIds, sampling }])).get('c/0')!
  expect(unnamed.policyVersion).toBe(42)
  await engine.close()
  model.dispose()
})

test('an update in the middle: the completion names both versions, and each token is its version’s', async () => {
  const model = await loadModel()
  const engine = new LocalEngine(model)
  let seen = 0
  const onToken = (): void => {
    if (++seen !== 20) return
    void engine.pause().then(async () => {
      await train(model)
      await engine.updateWeights({ version: 1 })
      engine.resume()
    })
  }
  const stream = engine.generate([{ id: 'a', promptIds, sampling }], { onToken })
  const { versions, responseIds, logprobs } = completed((await stream.next()).value)
  expect(versions.map(({ version }) => version)).toEqual([0, 1])
  const border = versions[0]!.end
  expect(versions).toEqual([
    { version: 0, start: 0, end: border },
    { version: 1, start: border, end: 60 },
  ])
  const [score] = await model.score([Int32Array.from([...promptIds, ...responseIds])], { from: promptIds.length })
  // The new weights saw the whole sequence, its old part included.
  for (let t = border; t < 60; t++) expect(logprobs.raw![t]).toBeCloseTo(score!.logprobs[t]!, 4)
  expect(Math.abs(logprobs.raw![0]! - score!.logprobs[0]!)).toBeGreaterThan(1e-3)
  await engine.close()
  model.dispose()
})

test('bfloat16: what is sampled is near what score says', async () => {
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language', dtype: 'bfloat16' })
  const engine = new LocalEngine(model)
  const { responseIds, logprobs } = (await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!
  const [score] = await model.score([Int32Array.from([...promptIds, ...responseIds])], { from: promptIds.length })
  for (const [t, value] of logprobs.raw!.entries()) expect(Math.abs(value - score!.logprobs[t]!)).toBeLessThan(0.25)
  await engine.close()
  await engine.close()
  model.dispose()
})

test('a step that cannot run ends its samples; the engine goes on', async () => {
  const model = await loadModel()
  const engine = new LocalEngine(model)
  const weight = model.parts.weights.get('model.norm.weight')!
  const whole = weight.detach()
  weight.setData(whole.narrow(0, 0, 3))
  const outcomes = []
  for await (const outcome of engine.generate([{ id: 'a', promptIds, n: 3, sampling }])) outcomes.push(outcome)
  expect(outcomes.map(({ kind }) => kind)).toEqual(['failed', 'failed', 'failed'])
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
  weight.setData(whole)
  expect((await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!.finishReason).toBe('length')
  weight.setData(whole.mul(Number.NaN))
  for await (const outcome of engine.generate([{ id: 'nan', promptIds, sampling }]))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'non-finite' })
  await engine.close()
  model.dispose()
})

test('the same numbers under another version: nothing is computed again', async () => {
  const model = await loadModel()
  const engine = new LocalEngine(model)
  let seen = 0
  const onToken = (): void => {
    if (++seen === 20) void engine.updateWeights({ version: 9 })
  }
  const stream = engine.generate([{ id: 'a', promptIds, sampling }], { onToken })
  const { versions, responseIds } = completed((await stream.next()).value)
  expect(versions.map(({ version }) => version)).toEqual([0, 9])
  expect(engine.counts.promptTokens).toBe(promptIds.length)
  const again = (await collect(engine, [{ id: 'b', promptIds, sampling }])).get('b/0')!
  expect([...again.responseIds]).toEqual([...responseIds])
  await engine.close()
  model.dispose()
})

describe('an engine over a model with an adapter', () => {
  const load = (): Promise<LocalModel<'language'>> =>
    LocalModel.load(fixture('qwen2'), { role: 'language', adapter: fixture('qwen2-lora') })
  const sequenceOf = ({ responseIds }: Sample): Int32Array => Int32Array.from([...promptIds, ...responseIds])
  const close = (a: Float32Array, b: Float32Array): void => {
    for (const [t, value] of a.entries()) expect(value).toBeCloseTo(b[t]!, 4)
  }

  test('samples from merged copies; the model is scored and trained beside it, with its adapter and without', async () => {
    const model = await load()
    const engine = new LocalEngine(model)
    const checksum = await model.checksum()
    const sample = async (id: string): Promise<Sample> =>
      (await collect(engine, [{ id, promptIds, sampling }])).get(`${id}/0`)!
    const first = await sample('a')
    const from = promptIds.length
    const [score] = await model.score([sequenceOf(first)], { from })
    const [base] = await model.score([sequenceOf(first)], { from, adapter: 'off' })
    close(first.logprobs.raw!, score!.logprobs)
    expect(first.logprobs.raw![0]).not.toBeCloseTo(base!.logprobs[0]!, 3)
    expect(model.version).toBe(0)
    expect(await model.checksum()).toBe(checksum)
    await train(model)
    const second = await sample('b')
    expect(second.policyVersion).toBe(1)
    expect([...second.responseIds]).not.toEqual([...first.responseIds])
    const [trained] = await model.score([sequenceOf(second)], { from })
    close(second.logprobs.raw!, trained!.logprobs)
    // Off, the adapter changes nothing still.
    const [again] = await model.score([sequenceOf(first)], { from, adapter: 'off' })
    expect([...again!.logprobs]).toEqual([...base!.logprobs])
    await engine.close()
    model.dispose()
  })

  test('gives the copies back asleep and closed, and has them again awake', async () => {
    const model = await load()
    const before = memoryUse()
    const engine = new LocalEngine(model, { cacheBytes: 1e6 })
    const first = (await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!
    const awake = memoryUse()
    await engine.sleep()
    const copies = [...model.parts.weights].filter(([name]) => /(qkv|o_proj|gate_up|down_proj)\.weight$/.test(name))
    const bytes = copies.reduce((sum, [, { numel }]) => sum + 4 * numel, 0)
    expect(awake.bytes - memoryUse().bytes).toBeGreaterThan(bytes)
    await engine.wake()
    const second = (await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!
    expect([...second.responseIds]).toEqual([...first.responseIds])
    await engine.close()
    expect(memoryUse().liveTensors).toBe(before.liveTensors)
    model.dispose()
  })

  test('merged into the model for good, it answers the same', async () => {
    const model = await load()
    const engine = new LocalEngine(model)
    const beside = (await collect(engine, [{ id: 'a', promptIds, sampling }])).get('a/0')!
    await model.mergeAdapter()
    const merged = (await collect(engine, [{ id: 'b', promptIds, sampling }])).get('b/0')!
    close(merged.logprobs.raw!, beside.logprobs.raw!)
    expect(merged.policyVersion).toBe(beside.policyVersion)
    await engine.close()
    model.dispose()
  })
})
