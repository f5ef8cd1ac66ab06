/** float16 training: gradients are computed times a loss scale, an overflow makes no step. */
import { expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { scope, type Tensor } from '../../src/tensor/index.js'
import { sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4])
const create = (dtype: 'float16' | 'float32', seed = 1) =>
  LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed, dtype })
const pass = (model: LocalModel<'language'>, slope: number) =>
  model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => slope) })))
const numbersOf = (tensor: Tensor): number[] => scope(() => [tensor.detach().tolist()].flat(4) as number[])

test('gradients far below what float16 holds are those of float32', async () => {
  const start = await create('float16')
  await start.export(temporary('start'), { what: 'model' })
  const wide = await LocalModel.load(temporary('start'), { role: 'language', dtype: 'float32' })
  const narrow = await LocalModel.load(temporary('start'), { role: 'language', dtype: 'float16' })
  // Times a probability of one in a thousand this is below 6e-8, the smallest number of float16.
  const slope = -1e-6
  await pass(wide, slope)
  await pass(narrow, slope)
  const [a, b] = [wide.gradients(), narrow.gradients()]
  let [dot, one, other] = [0, 0, 0]
  for (const [name, gradient] of a) {
    const [x, y] = [numbersOf(gradient), numbersOf(b.get(name)!)]
    for (const [i, value] of x.entries()) {
      dot += value * y[i]!
      one += value * value
      other += y[i]! * y[i]!
    }
  }
  expect(Math.sqrt(other / one)).toBeCloseTo(1, 1)
  expect(dot / Math.sqrt(one * other)).toBeGreaterThan(0.999)
  const [exact, rounded] = [await wide.step({ lr: 1e-3 }), await narrow.step({ lr: 1e-3 })]
  expect(rounded.norm / exact.norm).toBeCloseTo(1, 2)
  expect(rounded.lossScale).toBe(2 ** 16)
  expect(exact).not.toHaveProperty('lossScale')
  for (const tensor of [...a.values(), ...b.values()]) tensor.dispose()
  for (const model of [start, wide, narrow]) model.dispose()
})

test('an overflow changes no weight and halves the scale, until the batch fits', async () => {
  const model = await create('float16')
  const before = await model.checksum()
  const scales: number[] = []
  for (;;) {
    await pass(model, -20)
    const step = await model.step({ lr: 1e-3 })
    scales.push(step.lossScale!)
    if (!step.skipped) break
    expect(step).toEqual({ norm: Number.POSITIVE_INFINITY, version: 0, lossScale: scales.at(-1), skipped: true })
    expect(await model.checksum()).toBe(before)
  }
  expect(scales.length).toBeGreaterThan(1)
  expect(scales).toEqual(scales.map((_, i) => 2 ** (16 - i)))
  expect(model.version).toBe(1)
  expect(await model.checksum()).not.toBe(before)
  model.dispose()
})

test('a gradient that is too large without any scale is an error that names the sequence', async () => {
  const model = await create('float16')
  const huge = () =>
    model.forwardBackward(given, (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({ logprobs: logprobs.map(() => (indices[k] === 1 ? 1e7 : 0)) })),
    )
  for (let halvings = 0; halvings < 16; halvings++) {
    await huge()
    expect(await model.step({ lr: 1e-3 })).toMatchObject({ skipped: true })
  }
  await huge()
  await expect(model.step({ lr: 1e-3 })).rejects.toThrow('sequence 1')
  model.dispose()
})

test('the scale is part of the state, and grows after many steps without overflow', async () => {
  const straight = await create('float16')
  await pass(straight, -20)
  await straight.step({ lr: 1e-4 })
  for (let step = 0; step < 205; step++) {
    if (step === 100) await straight.saveState(temporary('scaled'))
    await pass(straight, -0.01)
    await straight.step({ lr: 1e-4 })
  }
  const resumed = await create('float16', 2)
  await resumed.loadState(temporary('scaled'))
  let last = 0
  for (let step = 100; step < 205; step++) {
    await pass(resumed, -0.01)
    last = (await resumed.step({ lr: 1e-4 })).lossScale!
  }
  expect(await resumed.checksum()).toBe(await straight.checksum())
  await pass(straight, -0.01)
  expect((await straight.step({ lr: 1e-4 })).lossScale).toBe(last)
  expect(Math.log2(last) % 1).toBe(0)
  for (const model of [straight, resumed]) model.dispose()
})
