/** A training that is saved and taken up again is the one that was never interrupted. */
import { cpSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { type LoadOptions, LocalModel, type Role } from '../../src/model/index.js'
import { SafetensorsFile } from '../../src/tensor/index.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4])
const adapter = { rank: 4, alpha: 8, dropout: 0.3, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed: 3 }
const optimizer = { weightDecay: 0.1, noDecay: ['norm', 'bias'] as const }

type Options = Partial<LoadOptions<Role>>
const create = (role: Role, options: Options = {}) =>
  LocalModel.create(tinyConfig('qwen2'), { role, seed: 1, optimizer, ...options } as LoadOptions<Role> & {
    role: Role
    seed: number
  })

async function train(model: LocalModel, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await model.forwardBackward(given, outputs =>
      outputs.map(output => {
        if ('logprobs' in output) return { logprobs: output.logprobs.map(() => -0.1) }
        return 'values' in output ? { values: output.values.map(() => -0.1) } : { score: -0.1 }
      }),
    )
    await model.step({ lr: 1e-3 / (step + 1), clipNorm: 1 })
  }
}

/** Every number that training changes. */
async function bits(model: LocalModel): Promise<unknown> {
  const adapter = [...(model.adapter?.tensors() ?? [])].map(([name, tensor]) => [name, tensor.toArray()])
  return { checksum: await model.checksum(), adapter, version: model.version }
}

const kinds: [string, Role, Options][] = [
  ['a language model', 'language', {}],
  ['a language model in bfloat16', 'language', { dtype: 'bfloat16' }],
  ['a language model with an adapter', 'language', { adapter }],
  ['a language model with an adapter in bfloat16', 'language', { adapter, dtype: 'bfloat16' }],
  ['a critic', 'value', {}],
  ['a critic with an adapter', 'value', { adapter }],
  ['a critic whose head alone trains', 'value', { freezeBackbone: true }],
  ['a reward model with an adapter', 'reward', { adapter, gradientCheckpointing: true }],
]

describe.each(kinds)('%s', (name, role, options) => {
  test('resumed = uninterrupted, to the bit', async () => {
    const directory = temporary(name)
    const straight = await create(role, options)
    await train(straight, 3)
    await straight.saveState(directory)
    await train(straight, 3)

    const resumed = await create(role, options)
    // What it was before does not matter.
    await train(resumed, 1)
    await resumed.loadState(directory)
    expect(resumed.version).toBe(3)
    await train(resumed, 3)
    expect(await bits(resumed)).toEqual(await bits(straight))
    expect(await resumed.score(given)).toEqual(await straight.score(given))
    for (const model of [straight, resumed]) model.dispose()
  })
})

test('before the first step there is a state too, and one replaces another', async () => {
  const model = await create('language')
  const directory = temporary('replaced')
  await model.saveState(directory)
  const start = await bits(model)
  expect(readdirSync(directory).sort()).toEqual(['state.json', 'weights.safetensors'])
  await train(model, 2)
  await model.loadState(directory)
  expect(await bits(model)).toEqual(start)
  await train(model, 2)
  const trained = await bits(model)
  await model.saveState(directory)
  expect(readdirSync(directory).sort()).toEqual(['optimizer.safetensors', 'state.json', 'weights.safetensors'])
  await train(model, 1)
  await model.loadState(directory)
  expect(await bits(model)).toEqual(trained)
  model.dispose()
})

test('a state of another training is refused by what differs, and changes nothing', async () => {
  const directory = temporary('whose')
  const model = await create('language', { adapter })
  await train(model, 1)
  await model.saveState(directory)
  const others: [Options | { role: Role } | { seed: number }, string][] = [
    [{ role: 'value' }, 'role is "language", this model\'s is "value"'],
    [{ dtype: 'bfloat16' }, 'dtype is "float32", this model\'s is "bfloat16"'],
    [{ adapter: { ...adapter, rank: 2 } }, "adapter.rank is 4, this model's is 2"],
    [{ adapter: { ...adapter, dropout: 0 } }, "adapter.dropout is 0.3, this model's is 0"],
    [{ optimizer: {} }, "optimizer.weightDecay is 0.1, this model's is 0; optimizer.noDecay is"],
    [
      { optimizer: { ...optimizer, betas: [0.5, 0.999] } },
      "optimizer.betas is [0.9,0.999], this model's is [0.5,0.999]",
    ],
    [{ seed: 2 }, 'frozenWeights is'],
  ]
  for (const [fields, message] of others) {
    const other = await create('role' in fields ? (fields.role as Role) : 'language', { adapter, ...fields })
    await train(other, 1)
    const before = await bits(other)
    await expect(other.loadState(directory)).rejects.toThrow(`${directory} is the state of another training: `)
    await expect(other.loadState(directory)).rejects.toThrow(message)
    expect(await bits(other)).toEqual(before)
    await train(other, 1)
    other.dispose()
  }
  const wide = await LocalModel.create(tinyConfig('qwen2', { intermediate: 32 }), { role: 'language', seed: 1 })
  await expect(wide.loadState(directory)).rejects.toThrow("decoder.intermediate is 24, this model's is 32")
  await expect(wide.loadState(directory)).rejects.toThrow('adapter is {')
  wide.dispose()
  model.dispose()
})

test('files that are damaged or missing are refused whole', async () => {
  const directory = temporary('damaged')
  const model = await create('language')
  await train(model, 1)
  await model.saveState(directory)
  await train(model, 1)
  const before = await bits(model)
  const copy = (name: string) => {
    cpSync(directory, temporary(name), { recursive: true })
    return (file: string) => join(temporary(name), file)
  }
  await expect(model.loadState(temporary('nowhere'))).rejects.toThrow('state.json cannot be read')
  writeFileSync(copy('no-json')('state.json'), '{')
  await expect(model.loadState(temporary('no-json'))).rejects.toThrow('state.json cannot be read')
  const odd = copy('odd')('state.json')
  writeFileSync(odd, readFileSync(odd, 'utf8').replace('"version": 1', '"version": -1'))
  await expect(model.loadState(temporary('odd'))).rejects.toThrow('state.json is not a training state')
  truncateSync(copy('short')('optimizer.safetensors'), 1000)
  await expect(model.loadState(temporary('short'))).rejects.toThrow('optimizer.safetensors')
  const swapped = copy('swapped')
  cpSync(swapped('optimizer.safetensors'), swapped('weights.safetensors'))
  await expect(model.loadState(temporary('swapped'))).rejects.toThrow(
    'weights.safetensors does not fit the model: model.embed_tokens.weight is missing',
  )
  cpSync(join(directory, 'weights.safetensors'), copy('swapped-moments')('optimizer.safetensors'))
  await expect(model.loadState(temporary('swapped-moments'))).rejects.toThrow('optimizer.safetensors does not fit')
  expect(await bits(model)).toEqual(before)
  await train(model, 1)

  // A disk that fails in the middle leaves weights of two kinds, and nobody computes with them.
  const read = vi.spyOn(SafetensorsFile.prototype, 'read')
  read.mockImplementationOnce(() => Promise.reject(new Error('input/output error')))
  await expect(model.loadState(directory)).rejects.toThrow('input/output error')
  await expect(model.score(given)).rejects.toThrow('failed part-way, and the weights are now a mix')
  await expect(model.saveState(directory)).rejects.toThrow('load a state again')
  read.mockRestore()
  await model.loadState(directory)
  expect((await model.score(given)).length).toBe(3)
  model.dispose()
})

test('a state is written of a model that stands still, into a directory of its own', async () => {
  const model = await create('language')
  const directory = temporary('busy')
  await model.forwardBackward(given, outputs => outputs.map(() => ({})))
  await expect(model.saveState(directory)).rejects.toThrow('call step() or zeroGrad() first')
  model.zeroGrad()
  await expect(model.saveState('')).rejects.toThrow('expected the name of a directory')
  const running = model.forwardBackward(given, outputs => outputs.map(() => ({})))
  await expect(model.saveState(directory)).rejects.toThrow(
    'forwardBackward() is under way; await it before saveState()',
  )
  await running
  model.zeroGrad()
  expect(existsSync(directory)).toBe(false)
  cpSync(fixture('qwen2'), directory, { recursive: true })
  await expect(model.saveState(directory)).rejects.toThrow('and writing would delete it; choose another directory')
  expect(readdirSync(directory).sort()).toEqual(readdirSync(fixture('qwen2')).sort())
  model.dispose()
})

test('saving and loading leave nothing behind', async () => {
  const model = await create('language', { adapter })
  await train(model, 2)
  await model.saveState(temporary('held'))
  await model.loadState(temporary('held'))
  const before = await heldMemory()
  for (let i = 0; i < 5; i++) {
    await model.saveState(temporary('held'))
    await model.loadState(temporary('held'))
    await model.export(temporary('held-export'), { what: 'model' })
  }
  await expectHeld(before)
  model.dispose()
})
