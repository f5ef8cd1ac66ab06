/** A model leaves its device and comes back; a training leaves the process and comes back: to the bit, on every device. */
import { describe, expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { memoryUse, synchronize } from '../../src/tensor/index.js'
import { describeCuda, device, onCuda } from '../device.js'
import { sequences, temporary } from './models.js'
import { deviceModel } from './wide.js'

const given = sequences(onCuda ? [96, 33, 128, 7] : [6, 11, 4])
const adapter = {
  rank: 8,
  alpha: 16,
  dropout: 0.2,
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'down_proj'] as const,
  seed: 5,
}
const dtype = onCuda ? 'bfloat16' : 'float32'
const kinds = [
  ['a model', { dtype }],
  ['a model with an adapter', { dtype, adapter }],
] as const

async function accumulate(model: LocalModel<'language'>): Promise<void> {
  await model.forwardBackward(given, outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.1) })),
  )
}

async function train(model: LocalModel<'language'>, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    await accumulate(model)
    await model.step({ lr: 1e-3, clipNorm: 1 })
  }
}

/** Every number that training changes, and what a pass makes of them. */
async function bits(model: LocalModel<'language'>): Promise<unknown> {
  const low = [...(model.adapter?.tensors() ?? [])].map(([name, tensor]) => [
    name,
    tensor.to('cpu', 'float32').toArray(),
  ])
  return { checksum: await model.checksum(), low, version: model.version, scores: await model.score(given) }
}

describe.each(kinds)('%s', (name, options) => {
  test('trains to the same bits twice: what the tests below rest on', async () => {
    const [one, other] = [await deviceModel(options), await deviceModel(options)]
    for (const model of [one, other]) await train(model, 3)
    expect(await bits(other)).toEqual(await bits(one))
    one.dispose()
    other.dispose()
  })

  test('moved away and back between gradients and their step is as if it had stayed', async () => {
    const [stays, moves] = [await deviceModel(options), await deviceModel(options)]
    for (const model of [stays, moves]) {
      await train(model, 1)
      await accumulate(model)
    }
    await moves.offload()
    expect(moves.offloaded).toBe(true)
    for (const refused of [() => moves.step({ lr: 1e-3 }), () => moves.score(given), () => moves.copyFrom(stays)])
      await expect(refused()).rejects.toThrow(/offload/)
    await moves.reload()
    for (const model of [stays, moves]) {
      await model.step({ lr: 1e-3, clipNorm: 1 })
      await train(model, 1)
    }
    expect(await bits(moves)).toEqual(await bits(stays))
    stays.dispose()
    moves.dispose()
  })

  test('saved and taken up by another process is as if it had never stopped', async () => {
    const directory = temporary(name)
    const straight = await deviceModel(options)
    await train(straight, 2)
    await straight.saveState(directory)
    await train(straight, 2)
    const resumed = await deviceModel(options)
    await resumed.loadState(directory)
    expect(resumed.version).toBe(2)
    await train(resumed, 2)
    expect(await bits(resumed)).toEqual(await bits(straight))
    straight.dispose()
    resumed.dispose()
  })
})

describeCuda('what is left on the device', () => {
  test.each(kinds)('of %s is under 1 %% of what was held', async (_, options) => {
    // The libraries take their work space once, whoever comes first.
    const first = await deviceModel(options)
    await train(first, 1)
    first.dispose()
    await synchronize(device)
    const before = memoryUse(device).bytes
    const model = await deviceModel(options)
    await train(model, 1)
    await accumulate(model)
    await synchronize(device)
    const held = memoryUse(device).bytes - before
    await model.offload()
    await synchronize(device)
    const left = memoryUse(device).bytes - before
    console.log(`held ${(held / 2 ** 20).toFixed(1)} MiB, left ${(left / 2 ** 20).toFixed(2)} MiB`)
    // Weights in bfloat16 at the least; trained in full also gradients, float32 copies and two moments.
    expect(held).toBeGreaterThan(('adapter' in options ? 2 : 16) * 40e6)
    expect(left).toBeLessThan(0.01 * held)
    await model.reload()
    await synchronize(device)
    expect(memoryUse(device).bytes - before).toBeGreaterThan(0.95 * held)
    model.dispose()
  })
})
