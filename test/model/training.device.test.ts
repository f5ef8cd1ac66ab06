/** A training on a device: resumed = uninterrupted, moved away and back = never moved, in the dtype the device trains in. */
import { describe, expect, test } from 'vitest'
import { type LoadOptions, LocalModel, newConfig, sizes } from '../../src/model/index.js'
import { memoryUse, synchronize } from '../../src/tensor/index.js'
import { describeCuda, device } from '../support/device.js'
import { expectSameGradients, sequences, takeGradients, temporary, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([7, 16, 3, 12])
const adapter = {
  rank: 8,
  alpha: 16,
  dropout: 0.3,
  targets: ['q_proj', 'v_proj', 'o_proj', 'up_proj'] as const,
  seed: 3,
}

type Options = Partial<LoadOptions<'language'>>
const create = (options: Options = {}) =>
  LocalModel.create(tinyConfig('qwen3'), { role: 'language', seed: 1, device, ...options })

const accumulate = (model: LocalModel<'language'>, some: readonly Int32Array[] = given, offset = 0) =>
  model.forwardBackward(some, (outputs, indices) =>
    outputs.map(({ logprobs }, k) => ({ logprobs: weights(offset + indices[k]!, logprobs.length) })),
  )

async function train(model: LocalModel<'language'>, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await accumulate(model)
    await model.step({ lr: 1e-2, clipNorm: 1, weightDecay: 0.1 })
  }
}

async function bits(model: LocalModel<'language'>): Promise<unknown> {
  const own: unknown[] = []
  for (const tensor of model.adapter?.tensors().values() ?? []) own.push(await tensor.data())
  return { checksum: await model.checksum(), own, version: model.version, scores: await model.score(given) }
}

describe.each([
  ['all weights', {}],
  ['an adapter with dropout', { adapter }],
  ['an adapter with dropout, activations recomputed', { adapter, gradientCheckpointing: true }],
] as [string, Options][])('%s', (name, options) => {
  test('a state goes on bit for bit', async () => {
    const straight = await create(options)
    await train(straight, 2)
    await straight.saveState(temporary(name))
    await train(straight, 3)
    const resumed = await create(options)
    await resumed.loadState(temporary(name))
    await train(resumed, 3)
    expect(await bits(resumed)).toEqual(await bits(straight))
    for (const model of [straight, resumed]) model.dispose()
  })

  test('moved away and back, gradients included, it goes on bit for bit', async () => {
    const [moved, still] = [await create(options), await create(options)]
    for (const model of [moved, still]) {
      await train(model, 2)
      await accumulate(model)
    }
    const checksum = await moved.checksum()
    await moved.offload()
    expect(moved.offloaded).toBe(true)
    expect(await moved.checksum()).toBe(checksum)
    await expect(moved.score(given)).rejects.toThrow('the weights are offloaded; call reload() first')
    await expect(moved.step({ lr: 1e-2 })).rejects.toThrow('offloaded')
    await expect(moved.copyFrom(still)).rejects.toThrow('offloaded')
    await expect(still.copyFrom(moved)).rejects.toThrow('offloaded')
    if (moved.adapter) await expect(moved.mergeAdapter()).rejects.toThrow('offloaded')
    await moved.reload()
    for (const model of [moved, still]) {
      await model.step({ lr: 1e-2 })
      await train(model, 2)
    }
    expect(await bits(moved)).toEqual(await bits(still))
    for (const model of [moved, still]) model.dispose()
  })
})

test('dropout does not depend on how a step was split', async () => {
  const model = await create({ adapter, dtype: 'float32' })
  await train(model, 2)
  await accumulate(model)
  const whole = await takeGradients(model)
  await accumulate(model, given.slice(0, 1))
  await accumulate(model, given.slice(1), 1)
  expectSameGradients(await takeGradients(model), whole, 1e-4)
  model.dispose()
})

test('long sequences: the same training twice is the same to the bit', async () => {
  const shape = { context: 1024, headDim: 64, hidden: 128, intermediate: 256, vocabSize: 500 }
  const batch = sequences([700, 513, 1000, 300], 500)
  const run = async (): Promise<string> => {
    const model = await LocalModel.create(tinyConfig('qwen2', shape), { role: 'language', seed: 1, device })
    for (let i = 0; i < 3; i++) {
      await accumulate(model, batch)
      await model.step({ lr: 1e-3 })
    }
    const checksum = await model.checksum()
    model.dispose()
    return checksum
  }
  const first = await run()
  for (let i = 0; i < 2; i++) expect(await run()).toBe(first)
})

describeCuda('what is left on the card', () => {
  test.each([
    ['all weights', {}],
    ['an adapter', { adapter: { ...adapter, rank: 64 } }],
  ] as [string, Options][])('of %s is under a hundredth of what was held', async (_, options) => {
    const config = newConfig('qwen2', { ...sizes['0.5b'], vocabSize: 151_936 })
    const before = memoryUse(device).bytes
    const model = await LocalModel.create(config, { role: 'language', seed: 1, device, ...options })
    const batch = sequences([512, 300], 1000)
    const step = async () => {
      await model.forwardBackward(batch, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1e-3) })),
      )
      await model.step({ lr: 1e-4 })
    }
    await step()
    await model.forwardBackward(batch, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1e-3) })),
    )
    await synchronize(device)
    const held = memoryUse(device).bytes - before
    await model.offload()
    await synchronize(device)
    const left = memoryUse(device).bytes - before
    console.log(`held ${(held / 2 ** 20).toFixed(1)} MiB, left ${(left / 2 ** 20).toFixed(1)} MiB`)
    expect(left).toBeLessThan(held / 100)
    await model.reload()
    await model.step({ lr: 1e-4 })
    await step()
    model.dispose()
  })
})
