import { describe, expect, test } from 'vitest'
import { families, LocalModel, ModelError, NonFiniteError, type Role, type TextFamily } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { fixture, nudge, sameBits, sequences, takeGradients, temporary, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([5, 9, 2, 9])

/** A weighted sum of everything a model answers. */
async function lossOf(model: LocalModel<'value' | 'reward'>): Promise<number> {
  const outputs = await model.score(given)
  return outputs.reduce((sum, output, i) => {
    if ('score' in output) return sum + weights(i, 1)[0]! * output.score
    return sum + output.values.reduce((part, value, t) => part + weights(i, output.values.length)[t]! * value, 0)
  }, 0)
}

describe.each(['value', 'reward'] as const)('%s', role => {
  test.each(families)('gradients are those of finite differences: %s', async (family: TextFamily) => {
    const model: LocalModel<'value' | 'reward'> = await LocalModel.create(tinyConfig(family, { layers: 1 }), {
      role: role as 'value' | 'reward',
      seed: 2,
    })
    await model.forwardBackward(given, (outputs, indices) =>
      outputs.map((output, k) =>
        'score' in output
          ? { score: weights(indices[k]!, 1)[0]! }
          : { values: weights(indices[k]!, output.values.length) },
      ),
    )
    const gradients = await takeGradients(model as LocalModel<Role>)
    for (const name of ['score.weight', 'model.norm.weight', 'model.layers.0.self_attn.o_proj.weight']) {
      for (const index of [0, 5, 13]) {
        const by = 5e-3
        nudge(model as LocalModel<Role>, name, index, by)
        const above = await lossOf(model)
        nudge(model as LocalModel<Role>, name, index, -2 * by)
        const below = await lossOf(model)
        nudge(model as LocalModel<Role>, name, index, by)
        expect(gradients.get(name)![index], `${name}[${index}]`).toBeCloseTo((above - below) / (2 * by), 2)
      }
    }
    model.dispose()
  })
})

test('a critic has a value before each token, one per log-probability; packing and from change nothing', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'value', seed: 2 })
  const packed = await model.score(given)
  const padded = await model.score(given, { packing: 'off' })
  for (const [i, { values }] of packed.entries()) {
    expect(values.length).toBe(given[i]!.length - 1)
    for (const [t, value] of values.entries()) expect(padded[i]!.values[t]).toBeCloseTo(value, 5)
  }
  const [late] = await model.score([given[1]!], { from: 4 })
  expect(late!.values.length).toBe(5)
  expect(late!.values[0]).toBeCloseTo(packed[1]!.values[3]!, 5)
  model.dispose()
})

test('a critic made from a policy starts at zero, a reward model as its seed says; both keep the backbone', async () => {
  const policy = await LocalModel.load(fixture('qwen2'), { role: 'language' })
  const critic = await LocalModel.load(fixture('qwen2'), { role: 'value' })
  for (const { values } of await critic.score(given)) expect(values.every(value => value === 0)).toBe(true)
  const rewards = await Promise.all([1, 1, 2].map(seed => LocalModel.load(fixture('qwen2'), { role: 'reward', seed })))
  const scores = await Promise.all(rewards.map(model => model.score(given)))
  expect(scores[0]).toEqual(scores[1])
  expect(scores[0]).not.toEqual(scores[2])
  for (const [name, tensor] of policy.parts.weights)
    expect(sameBits(critic.parts.weights.get(name)!.toArray(), tensor.toArray()), name).toBe(true)
  for (const model of [policy, critic, ...rewards]) model.dispose()
})

test('a critic is saved in the layout of a reward model and comes back', async () => {
  const critic = await LocalModel.create(tinyConfig('llama'), { role: 'value', seed: 2 })
  await critic.export(temporary('critic'), { what: 'model' })
  const back = await LocalModel.load(temporary('critic'), { role: 'value' })
  expect(await back.checksum()).toBe(await critic.checksum())
  expect(await back.score(given)).toEqual(await critic.score(given))
  const reward = await LocalModel.load(temporary('critic'))
  expect(reward.role).toBe('reward')
  await expect(LocalModel.load(temporary('critic'), { role: 'language' })).rejects.toThrow(
    'is a reward model and has no logits',
  )
  await expect((critic as unknown as LocalModel<'language'>).nextLogits(given)).rejects.toThrow('has no logits')
  for (const model of [critic, back, reward]) model.dispose()
})

test('freezeBackbone trains the head alone', async () => {
  const model = await LocalModel.load(fixture('qwen2'), { role: 'value', freezeBackbone: true })
  const before = new Map([...model.parts.weights].map(([name, tensor]) => [name, tensor.toArray<'float32'>()]))
  await model.forwardBackward(given, outputs => outputs.map(({ values }) => ({ values: values.map(() => -1) })))
  expect([...model.gradients().keys()]).toEqual(['score.weight'])
  await model.step({ lr: 1e-2 })
  for (const [name, tensor] of model.parts.weights) {
    expect(sameBits(tensor.toArray(), before.get(name)!), name).toBe(name !== 'score.weight')
  }
  for (const { values } of await model.score(given)) expect(values[0]).toBeGreaterThan(0)
  model.dispose()
  await expect(LocalModel.load(fixture('qwen2'), { role: 'language', freezeBackbone: true })).rejects.toThrow(
    /freezeBackbone: there is nothing to train/,
  )
  const untied = await LocalModel.create(tinyConfig('llama'), { role: 'language', seed: 1, freezeBackbone: true })
  await untied.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })))
  expect([...untied.gradients().keys()]).toEqual(['lm_head.weight'])
  untied.dispose()
})

describe('numbers that are not finite stop before the weights change, and name the sequence', () => {
  const fresh = () => LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2 })
  const ones = (outputs: readonly { logprobs: Float32Array }[]) =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(1) }))

  test('an output', async () => {
    // Of a token that one sequence alone has. Not a language model: its other sequences have that token's logit.
    const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'value', seed: 2 })
    for (let i = 0; i < 16; i++) nudge(model as LocalModel<Role>, 'model.embed_tokens.weight', 36 * 16 + i, Number.NaN)
    const clean = given.map(ids => ids.map(id => (id === 36 ? 0 : id)))
    clean[2] = Int32Array.of(1, 36, 3)
    const error = await model.score(clean).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NonFiniteError)
    expect(error).toMatchObject({ sequence: 2, message: expect.stringContaining('sequence 2 is not finite') })
    model.dispose()
  })

  test('a gradient of the loss', async () => {
    const model = await fresh()
    const before = await model.checksum()
    const work = model.forwardBackward(given, (outputs, indices) =>
      ones(outputs).map((gradient, k) => {
        if (indices[k] === 1) gradient.logprobs[2] = Number.NaN
        return gradient
      }),
    )
    await expect(work).rejects.toMatchObject({ name: 'NonFiniteError', sequence: 1 })
    expect(await model.checksum()).toBe(before)
    model.dispose()
  })

  test('a gradient that overflows on its way back', async () => {
    const model = await fresh()
    const before = await model.checksum()
    await model.forwardBackward(given, ones)
    await model.forwardBackward(given, (outputs, indices) =>
      ones(outputs).map((gradient, k) => {
        if (indices[k] === 3) gradient.logprobs.fill(3e38)
        return gradient
      }),
    )
    await expect(model.step({ lr: 1 })).rejects.toMatchObject({
      name: 'NonFiniteError',
      sequence: 3,
      message: 'the gradient of sequence 3 of call 2 since the last step is not finite; the weights were not changed',
    })
    expect(await model.checksum()).toBe(before)
    expect(model.version).toBe(0)
    // Nothing is left of it: the next step is as if it had not been.
    await model.forwardBackward(given, ones)
    await model.step({ lr: 1e-3 })
    const other = await fresh()
    await other.forwardBackward(given, ones)
    await other.step({ lr: 1e-3 })
    expect(await model.checksum()).toBe(await other.checksum())
    model.dispose()
    other.dispose()
  })
})

test('clipNorm scales the update, and version counts steps, from where it is told to', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2 })
  const weight = () => model.parts.weights.get('model.norm.weight')!.toArray<'float32'>()
  const start = weight()
  // With an eps this large an update is the gradient times lr / eps.
  const rates = { lr: 1e6, eps: 1e8 }
  const changes: Float32Array[] = []
  const norms: number[] = []
  for (const [version, clipNorm] of [undefined, 0.5].entries()) {
    const before = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2 })
    await model.copyFrom(before)
    before.dispose()
    await model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 1) })))
    const done = await model.step({ ...rates, ...(clipNorm && { clipNorm }) })
    expect(done.version).toBe(1)
    expect(model.version, `${version}`).toBe(1)
    norms.push(done.norm)
    changes.push(weight().map((value, i) => value - start[i]!))
  }
  expect(norms[1]).toBe(norms[0])
  expect(norms[0]).toBeGreaterThan(0.5)
  expectClose(
    changes[1]!,
    changes[0]!.map(change => (change * 0.5) / norms[0]!),
    1e-6,
  )
  expect(Math.max(...changes[0]!.map(Math.abs))).toBeGreaterThan(1e-3)
  model.dispose()
  const later = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2, version: 41 })
  await later.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 1) })))
  await later.step({ lr: 1e-3 })
  expect(later.version).toBe(42)
  later.dispose()
  for (const version of [-1, 1.5, Number.NaN])
    await expect(LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2, version })).rejects.toThrow(
      'a version counts optimiser steps',
    )
})

test('offload and reload bring back the same weights; scoring in between says what to do', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2 })
  const before = await model.score(given)
  const checksum = await model.checksum()
  await model.offload()
  expect(await model.checksum()).toBe(checksum)
  await expect(model.score(given)).rejects.toThrow('the weights are offloaded; call reload() first')
  await model.reload()
  expect(await model.score(given)).toEqual(before)
  model.dispose()
})

test('copyFrom takes over the weights, refuses another shape whole, and forgets moments of the old ones', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1 })
  const other = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 2 })
  const train = async (one: LocalModel<'language'>) => {
    await one.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 1) })))
    await one.step({ lr: 1e-3 })
  }
  await train(model)
  const { weightsRevision } = model
  expect([model.version, other.version]).toEqual([1, 0])
  await model.copyFrom(other)
  expect(model.version).toBe(0)
  expect(model.weightsRevision).not.toBe(weightsRevision)
  expect(await model.checksum()).toBe(await other.checksum())
  await train(model)
  await train(other)
  expect(await model.checksum()).toBe(await other.checksum())
  const wide = await LocalModel.create(tinyConfig('qwen2', { intermediate: 32 }), { role: 'language', seed: 2 })
  await expect(model.copyFrom(wide)).rejects.toThrow(ModelError)
  await expect(model.copyFrom(wide)).rejects.toThrow(/gate_up\.weight is \[64, 16\], this one's \[48, 16\]/)
  expect(await model.checksum()).toBe(await other.checksum())
  for (const each of [model, other, wide]) each.dispose()
})
