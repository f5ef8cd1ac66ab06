import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedModel, imbalance, planShards, type World } from '../../src/distributed/index.js'
import { LocalModel, type ModelInput, NonFiniteError } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { bothWays, gradients, tinyDirectory, trainSteps, weightsOf } from '../support/distributed.js'
import { fixture, sequences, temporary } from '../support/models.js'
import { startRanks } from '../support/ranks.js'
import { readVisionCase } from '../support/vision-models.js'

let world: World
let directory: string
beforeAll(async () => {
  world = (await startRanks(2)).world
  directory = await tinyDirectory('language')
})
afterAll(() => world.close())

/** Ragged; smaller than the number of ranks; one much longer than the others. */
const batches = [sequences([5, 9, 2, 7, 3, 12, 4]), sequences([6]), sequences([2, 100, 3]), sequences([8, 8])]
const batch = (step: number): ModelInput[] => batches[step % batches.length]!
const adapter = { rank: 4, alpha: 8, dropout: 0.4, seed: 3, targets: ['q_proj', 'o_proj'] } as const
const language = { role: 'language' as const }
const loss = gradients<'language'>

async function expectSameWeights(one: object, other: object, tolerance: number): Promise<void> {
  const expected = await weightsOf(other)
  for (const [name, numbers] of await weightsOf(one)) expectClose(numbers, expected.get(name)!, tolerance, name)
}

const trainings = [
  ['all weights', {}],
  ['a divided optimiser', { optimizer: { shard: true } }],
  ['small batches, recomputed layers', { tokenBudget: 8, gradientCheckpointing: true }],
  [
    'an adapter with dropout, divided',
    { adapter: { ...adapter, targets: [...adapter.targets] }, optimizer: { shard: true } },
  ],
] as const
test.each(trainings)('two ranks train as one process does: %s', async (_, options) => {
  const [one, two] = await bothWays(world, directory, { ...language, ...options })
  const again = await DistributedModel.load(world, directory, { ...language, ...options })
  const all = batches.flat()
  const expected = await one.score(all, { entropy: true })
  const shown: number[] = []
  const found = await two.score(all, { entropy: true, onProgress: done => shown.push(done) })
  for (const [i, { logprobs, entropies }] of found.entries()) {
    expectClose(logprobs, expected[i]!.logprobs, 1e-6)
    expectClose(entropies!, expected[i]!.entropies!, 1e-5)
  }
  expect(shown.at(-1)).toBe(all.length)
  const norms = await trainSteps(one, 5, batch)
  expectClose(await trainSteps(two, 5, batch), norms, norm => 1e-5 * norm)
  await expectSameWeights(two, one, 1e-5)
  // Every rank has the same bits, and so has another run.
  await trainSteps(again, 5, batch)
  expect(await again.checksum()).toBe(await two.checksum())
  for (const model of [one, two, again]) model.dispose()
})

test('bfloat16 through float32 masters: divided or not, the weights are the same', async () => {
  const models = await Promise.all(
    [false, true].map(shard =>
      DistributedModel.load(world, directory, { ...language, dtype: 'bfloat16', optimizer: { shard } }),
    ),
  )
  const [plain, divided] = models as [DistributedModel<'language'>, DistributedModel<'language'>]
  const average = await DistributedModel.load(world, directory, language)
  const changed: number[] = []
  for (const model of [plain, divided]) {
    await model.forwardBackward(batch(0), loss)
    changed.push((await (await model.step({ lr: 1e-3 })).changed)!)
    await trainSteps(model, 3, batch)
  }
  expect(changed[0]).toBeGreaterThan(0)
  expect(changed[1]).toBe(changed[0])
  await expectSameWeights(divided, plain, 2e-2)
  await average.average(divided, { decay: 0.5 })
  await average.checksum()
  for (const what of ['float32', undefined] as const)
    await divided.export(temporary('wide'), { what: 'model', ...(what && { dtype: what }) })
  const wide = await LocalModel.load(temporary('wide'), language)
  await expectSameWeights(wide, divided, 1e-2)
  for (const model of [plain, divided, average, wide]) model.dispose()
})

test('a gradient that is not finite on one rank stops all of them, and its sequence is named', async () => {
  const model = await DistributedModel.load(world, directory, language)
  const before = await model.checksum()
  const given = sequences([5, 9, 2, 7])
  for (const bad of given.keys()) {
    await model.forwardBackward(given, loss)
    await model.forwardBackward(given, (outputs, indices) =>
      loss(outputs, indices).map((one, k) => (indices[k] === bad ? { logprobs: one.logprobs!.map(() => 3e38) } : one)),
    )
    const error = await model.step({ lr: 1e-2 }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NonFiniteError)
    expect((error as Error).message).toContain(`the gradient of sequence ${bad} of call 2 since the last step`)
    expect(await model.checksum()).toBe(before)
  }
  expect(model.version).toBe(0)
  await trainSteps(model, 1, batch)
  expect(model.version).toBe(1)
  model.dispose()
})

test('the loss is called in one order, whichever rank is faster', async () => {
  const model = await DistributedModel.load(world, directory, { ...language, tokenBudget: 8 })
  const orders: number[][][] = []
  for (let run = 0; run < 3; run++) {
    const order: number[][] = []
    await model.forwardBackward(batches[0]!, (outputs, indices) => {
      order.push([...indices])
      return loss(outputs, indices)
    })
    model.zeroGrad()
    orders.push(order)
  }
  expect(orders[0]!.flat().sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(orders[1]).toEqual(orders[0])
  expect(orders[2]).toEqual(orders[0])
  model.dispose()
})

test('images and videos: a rank without an image takes part in the step of the vision tower', async () => {
  const { responses } = await readVisionCase('qwen2_5_vl')
  const text = responses.find(({ media }) => media.length === 0)
  const given = text ? [...responses, text] : responses
  const [one, two] = await bothWays(world, fixture('qwen2_5_vl'), language)
  const expected = await one.score(given)
  for (const [i, { logprobs }] of (await two.score(given)).entries()) expectClose(logprobs, expected[i]!.logprobs, 1e-5)
  // One sequence with an image: only one rank has a gradient of the tower.
  const lone = responses.filter(({ media }) => media.length > 0).slice(0, 1)
  for (const model of [one, two]) await trainSteps(model, 2, step => (step === 0 ? given : lone))
  await expectSameWeights(two, one, 1e-4)
  for (const model of [one, two]) model.dispose()
})

test('sequences are divided by their tokens: ragged lengths are less than 3 % out of balance', () => {
  // A generator of its own, so that the numbers stay.
  let state = 7
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  for (const ranks of [2, 4, 8, 64]) {
    const lengths = Array.from({ length: 16 * ranks }, () => Math.round(16 + 2000 * random() ** 3))
    const plan = planShards(lengths, { ranks })
    expect(plan.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i))
    expect(imbalance(lengths, plan)).toBeLessThan(0.03)
  }
  expect(planShards([3, 9], { ranks: 4 })).toEqual([[1], [0], [], []])
  expect(planShards([1, 1, 8, 8, 2, 2], { ranks: 2, groupSize: 2 })).toEqual([
    [2, 3],
    [0, 1, 4, 5],
  ])
  expect(() => planShards([1, 2, 3], { ranks: 2, groupSize: 2 })).toThrow('whole groups of 2')
})
