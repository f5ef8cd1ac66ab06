/** What 16-bit weights are trained from: masters that start inside their rounding cells, and what that changes. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type LoadOptions, LocalModel, type Role } from '../../src/model/index.js'
import { Checkpoint, noGrad, SafetensorsFile, scope, type Tensor } from '../../src/tensor/index.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4])
const adapter = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed: 3 }

type Options = Partial<LoadOptions<Role>>
const create = <R extends Role>(role: R, options: Options = {}) =>
  LocalModel.create(tinyConfig('qwen2'), { role, seed: 1, dtype: 'bfloat16', ...options } as never) as Promise<
    LocalModel<R>
  >

const oneStep = async (model: LocalModel, lr = 1e-3) => {
  await model.forwardBackward(given, outputs =>
    outputs.map(output => {
      if ('logprobs' in output) return { logprobs: output.logprobs.map(() => -0.1) }
      return 'values' in output ? { values: output.values.map(() => -0.1) } : { score: -0.1 }
    }),
  )
  return model.step({ lr })
}

/** What a tensor holds, row after row. */
const numbersOf = (tensor: Tensor): number[] => scope(() => [tensor.detach().tolist()].flat(4) as number[])

/** The masters of a saved state, by name, and the weights beside them. */
async function saved(
  model: LocalModel,
  name: string,
): Promise<{ master: number[]; rounded: number[]; weight: number[] }[]> {
  const directory = temporary(name)
  await model.saveState(directory)
  const optimizer = await SafetensorsFile.open(join(directory, 'optimizer.safetensors'))
  const weights = await SafetensorsFile.open(join(directory, 'weights.safetensors'))
  const found = []
  for (const key of weights.names) {
    const [master, weight] = [await optimizer.read(`${key}.master`), await weights.read(key)]
    const rounded = scope(() => numbersOf(master.to(undefined, weight.dtype)))
    found.push({ master: numbersOf(master), rounded, weight: numbersOf(weight) })
    master.dispose()
    weight.dispose()
  }
  await optimizer.close()
  await weights.close()
  return found
}

const kinds: [string, Role, Options][] = [
  ['a language model with tied embeddings', 'language', {}],
  ['a language model in float16', 'language', { dtype: 'float16' }],
  ['a model with an adapter', 'language', { adapter }],
  ['a critic', 'value', {}],
  ['a reward model', 'reward', {}],
]

describe.each(kinds)('%s', (name, role, options) => {
  test('a step of rate 0 changes no weight: every master rounds to its weight, and few are on it', async () => {
    const before = await heldMemory()
    const model = await create(role, options)
    const scores = await model.score(given)
    const { changed } = await oneStep(model, 0)
    expect(await changed).toBe(0)
    expect(await model.score(given)).toEqual(scores)
    let [inside, numbers] = [0, 0]
    for (const { master, rounded, weight } of await saved(model, name)) {
      expect(rounded).toEqual(weight)
      numbers += weight.filter(one => one !== 0).length
      inside += master.filter((one, i) => one !== weight[i]).length
    }
    // Zeros stay: a critic's head, half of an adapter's matrices.
    expect(inside / numbers).toBeGreaterThan(0.99)
    model.dispose()
    await expectHeld(before)
  })

  test('exact: masters are the weights', async () => {
    const model = await create(role, { ...options, optimizer: { masters: 'exact' } })
    await oneStep(model, 0)
    for (const { master, weight } of await saved(model, `${name}-exact`)) expect(master).toEqual(weight)
    model.dispose()
  })
})

test('where the checkpoint has more bits, masters are its own numbers', async () => {
  const source = fixture('qwen2')
  const model = await LocalModel.load(source, { role: 'language', dtype: 'bfloat16' })
  await oneStep(model, 0)
  await model.export(temporary('own'), { what: 'model', dtype: 'float32' })
  const [own, given] = [await Checkpoint.open(temporary('own')), await Checkpoint.open(source)]
  for (const name of own.names) {
    const [written, original] = [await own.read(name), await given.read(name)]
    expect(written.toArray(), name).toEqual(original.toArray())
    written.dispose()
    original.dispose()
  }
  await own.close()
  await given.close()
  model.dispose()
})

test('float32 export: masters as they are, frozen weights widened, an adapter merged with all its digits', async () => {
  const model = await create('language', { adapter })
  await oneStep(model)
  await model.export(temporary('narrow'), { what: 'model' })
  await model.export(temporary('wide'), { what: 'model', dtype: 'float32' })
  await model.export(temporary('adapter'), { what: 'adapter', dtype: 'float32' })
  const [narrow, wide] = [await Checkpoint.open(temporary('narrow')), await Checkpoint.open(temporary('wide'))]
  let differing = 0
  for (const name of wide.names) {
    const [n, w] = [await narrow.read(name), await wide.read(name)]
    expect(w.dtype).toBe('float32')
    const [a, b] = [numbersOf(n), numbersOf(w)]
    for (const [i, value] of b.entries()) expect(Math.abs(value - a[i]!)).toBeLessThan(0.01)
    if (b.some((value, i) => value !== a[i])) differing++
    n.dispose()
    w.dispose()
  }
  expect(differing).toBe(6)
  const loaded = await LocalModel.load(temporary('wide'), { role: 'language' })
  expect(loaded.config.raw.dtype).toBe('float32')
  const file = await SafetensorsFile.open(join(temporary('adapter'), 'adapter_model.safetensors'))
  expect(new Set(file.names.map(name => file.info(name).dtype))).toEqual(new Set(['float32']))
  for (const one of [narrow, wide, file]) await one.close()
  for (const one of [model, loaded]) one.dispose()
})

test('a weight that is not finite is refused before the first step', async () => {
  const model = await create('language')
  await model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 1) })))
  noGrad(() => model.parts.weights.get('model.norm.weight')!.fill_(Number.POSITIVE_INFINITY))
  await expect(model.step({ lr: 1e-3 })).rejects.toThrow('model.norm.weight contains infinity or NaN')
  model.dispose()
})

test.each(['bfloat16', 'float16'] as const)('changed is the share of %s weights that a step changed', async dtype => {
  const model = await create('language', { dtype })
  const bits = () => [...model.parts.weights.values()].flatMap(tensor => numbersOf(tensor))
  for (const lr of [1e-6, 1e-4, 1e-2]) {
    const before = bits()
    const { changed } = await oneStep(model, lr)
    const after = bits()
    const count = after.filter((value, i) => value !== before[i]).length
    expect((await changed!) * after.length).toBeCloseTo(count, 6)
    expect(count).toBeGreaterThan(0)
  }
  const wide = await create('language', { dtype: 'float32' })
  expect(await oneStep(wide)).not.toHaveProperty('changed')
  for (const one of [model, wide]) one.dispose()
})

test('an average follows the masters, not the rounded weights', async () => {
  const policy = await create('language')
  const average = await create('language', { dtype: 'float32' })
  await oneStep(policy, 1e-6)
  await average.average(policy, { decay: 0 })
  await policy.export(temporary('policy'), { what: 'model', dtype: 'float32' })
  await average.export(temporary('average'), { what: 'model' })
  const [a, b] = [await Checkpoint.open(temporary('policy')), await Checkpoint.open(temporary('average'))]
  for (const name of a.names) {
    const [one, other] = [await a.read(name), await b.read(name)]
    expect(numbersOf(other)).toEqual(numbersOf(one))
    one.dispose()
    other.dispose()
  }
  for (const one of [a, b]) await one.close()
  for (const one of [policy, average]) one.dispose()
})
