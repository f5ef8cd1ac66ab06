/** LoRA dropout: a function of seed, step, sequence and position, not of how batches were made. */
import { describe, expect, test } from 'vitest'
import { type LoadOptions, LocalModel } from '../../src/model/index.js'
import { expectSameGradients, sequences, takeGradients, temporary, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4, 9])
const create = (more: Partial<LoadOptions<'language'>> & { dropout?: number; seed?: number } = {}) => {
  const { dropout = 0.4, seed = 1, ...rest } = more
  return LocalModel.create(tinyConfig('qwen3'), {
    role: 'language',
    seed,
    adapter: { rank: 4, alpha: 8, dropout, targets: ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'], seed: 3 },
    ...rest,
  })
}

/** Adds the gradients of these of the sequences; the loss depends on the sequence and the token alone. */
async function accumulate(
  model: LocalModel<'language'>,
  { from = 0, to = given.length, packing = 'on' as 'on' | 'off' } = {},
): Promise<Float32Array[]> {
  const seen = new Array<Float32Array>(to - from)
  await model.forwardBackward(
    given.slice(from, to),
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => {
        seen[indices[k]!] = logprobs
        return { logprobs: weights(from + indices[k]!, logprobs.length) }
      }),
    { packing },
  )
  return seen
}

/** An adapter whose second matrix is zero hides what is dropped. */
async function trained(more: Parameters<typeof create>[0] = {}): Promise<LocalModel<'language'>> {
  const model = await create(more)
  for (let i = 0; i < 2; i++) {
    await accumulate(model)
    await model.step({ lr: 3e-2 })
  }
  return model
}

describe('the numbers do not depend on', () => {
  test('splitting a step into calls, or calls into batches; packing; recomputing activations', async () => {
    const model = await trained()
    const outputs = await accumulate(model)
    const whole = await takeGradients(model)
    const close = (some: readonly Float32Array[], first: number) => {
      for (const [i, row] of some.entries())
        for (const [t, value] of row.entries()) expect(value).toBeCloseTo(outputs[first + i]![t]!, 4)
    }
    for (const cut of [1, 2, 3]) {
      close(await accumulate(model, { to: cut }), 0)
      close(await accumulate(model, { from: cut }), cut)
      expectSameGradients(await takeGradients(model), whole)
    }
    close(await accumulate(model, { packing: 'off' }), 0)
    expectSameGradients(await takeGradients(model), whole)

    await model.saveState(temporary('trained'))
    for (const options of [{ tokenBudget: 12 }, { tokenBudget: 1 }, { gradientCheckpointing: true }]) {
      const other = await create(options)
      await other.loadState(temporary('trained'))
      close(await accumulate(other), 0)
      expectSameGradients(await takeGradients(other), whole)
      other.dispose()
    }
    model.dispose()
  })
})

test('the numbers depend on the seed, the step, and which sequence of the step it is', async () => {
  const model = await trained()
  await model.saveState(temporary('seeds'))
  const first = await accumulate(model)
  // The same sequence once more in the same step is another sequence of it.
  const again = await accumulate(model, { to: 1 })
  expect(again[0]).not.toEqual(first[0])
  model.zeroGrad()
  // From the start of the step it is the same again.
  expect(await accumulate(model)).toEqual(first)
  await model.step({ lr: 0 })
  expect((await accumulate(model))[0]).not.toEqual(first[0])

  const other = await trained({ seed: 2 })
  await other.copyFrom(model)
  model.zeroGrad()
  expect(other.version).toBe(model.version)
  expect(await accumulate(other)).not.toEqual(await accumulate(model))
  for (const each of [model, other]) each.dispose()
})

test('resumed = uninterrupted, to the bit, and scoring drops nothing', async () => {
  const straight = await trained()
  await straight.saveState(temporary('resumed'))
  await straight.export(temporary('base'), { what: 'base' })
  // The seed is part of the state.
  const adapter = { ...straight.adapter!.options, seed: 4 }
  const resumed = await LocalModel.load(temporary('base'), { role: 'language', seed: 77, adapter })
  await resumed.loadState(temporary('resumed'))
  for (let i = 0; i < 3; i++) {
    expect(await accumulate(resumed)).toEqual(await accumulate(straight))
    expect(await resumed.step({ lr: 1e-2, clipNorm: 1 })).toEqual(await straight.step({ lr: 1e-2, clipNorm: 1 }))
  }
  for (const [name, tensor] of straight.adapter!.tensors())
    expect(resumed.adapter!.tensors().get(name)!.toArray(), name).toEqual(tensor.toArray())
  expect(await resumed.score(given)).toEqual(await straight.score(given))
  expect(await resumed.score(given)).toEqual(await resumed.score(given))
  for (const each of [straight, resumed]) each.dispose()
})

test('a sequence whose gradient is not finite is found under dropout too', async () => {
  const model = await trained()
  await accumulate(model)
  await model.forwardBackward(given, (outputs, indices) =>
    outputs.map(({ logprobs }, k) => ({ logprobs: logprobs.map(() => (indices[k] === 2 ? 3e38 : 1)) })),
  )
  await expect(model.step({ lr: 1 })).rejects.toMatchObject({ name: 'NonFiniteError', sequence: 2 })
  model.dispose()
})
