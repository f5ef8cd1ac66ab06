import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedModel, type World } from '../../src/distributed/index.js'
import { type AdapterOptions, LocalModel } from '../../src/model/index.js'
import { tokenModelContract } from '../model/token-model-contract.js'
import { expectClose } from '../support/close.js'
import { tinyDirectory, trainSteps, weightsOf } from '../support/distributed.js'
import { sequences, temporary } from '../support/models.js'
import { startRanks } from '../support/ranks.js'

const sizes = [1, 2, 4] as const
const worlds = new Map<number, World>()
let [directory, critic, reward] = ['', '', '']
const adapter: AdapterOptions & { seed: number } = {
  ...{ rank: 4, alpha: 8, dropout: 0, seed: 3 },
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj'],
}
beforeAll(async () => {
  directory = await tinyDirectory('language')
  critic = await tinyDirectory('value')
  reward = await tinyDirectory('reward')
  for (const size of sizes) worlds.set(size, (await startRanks(size)).world)
})
afterAll(async () => {
  for (const world of worlds.values()) await world.close()
})

const load = (size: number, shard: boolean) => (): Promise<DistributedModel<'language'>> =>
  DistributedModel.load(worlds.get(size)!, directory, { role: 'language', optimizer: { shard } })

tokenModelContract('one rank', load(1, true))
tokenModelContract('four ranks', load(4, false))
tokenModelContract('four ranks, divided', load(4, true))
tokenModelContract('a critic with an adapter, divided', async () =>
  DistributedModel.load(worlds.get(2)!, critic, { role: 'value', adapter, optimizer: { shard: true } }),
)
tokenModelContract('a reward model in small batches', async () =>
  DistributedModel.load(worlds.get(2)!, reward, { role: 'reward', tokenBudget: 8 }),
)

test('log-probabilities are those of one process, to 1e-6, and the same bits again, for any number of ranks', async () => {
  const one = await LocalModel.load(directory, { role: 'language' })
  // One sequence; fewer than ranks; ragged, with one very long.
  for (const lengths of [[6], [8, 3, 8], [5, 9, 2, 7, 3, 100, 4, 11, 2]]) {
    const expected = await one.score(sequences(lengths), { entropy: true })
    for (const size of sizes) {
      const model = await load(size, false)()
      const found = await model.score(sequences(lengths), { entropy: true })
      expect(await model.score(sequences(lengths), { entropy: true })).toEqual(found)
      for (const [i, { logprobs, entropies }] of found.entries()) {
        expectClose(logprobs, expected[i]!.logprobs, 1e-6, `${size} ranks, sequence ${i}`)
        expectClose(entropies!, expected[i]!.entropies!, 1e-5)
      }
      model.dispose()
    }
  }
  one.dispose()
})

test('a state of any number of ranks goes on with any other: to the bit with the same, to 1e-5 with others', async () => {
  const batch = (step: number) => sequences([5 + (step % 5), 9, 2, 7 + (step % 5), 3])
  const straight = await LocalModel.load(directory, { role: 'language' })
  for (let half = 0; half < 2; half++) await trainSteps(straight, 5, batch)
  const expected = await weightsOf(straight)
  const expectTrained = async (model: object): Promise<void> => {
    for (const [name, numbers] of await weightsOf(model)) expectClose(numbers, expected.get(name)!, 1e-5, name)
  }
  for (const size of sizes) {
    const saved = temporary(`state-of-${size}`)
    const first = await load(size, size !== 2)()
    await trainSteps(first, 5, batch)
    await first.saveState(saved)
    expect(existsSync(`${saved}/optimizer.safetensors`)).toBe(true)
    await trainSteps(first, 5, batch)
    for (const other of sizes) {
      const resumed = await load(other, other !== 2)()
      await resumed.loadState(saved)
      await trainSteps(resumed, 5, batch)
      expect(resumed.version).toBe(10)
      if (other === size) expect(await resumed.checksum()).toBe(await first.checksum())
      await expectTrained(resumed)
      resumed.dispose()
    }
    // One process without ranks reads it too.
    const alone = await LocalModel.load(directory, { role: 'language' })
    await alone.loadState(saved)
    await trainSteps(alone, 5, batch)
    await expectTrained(alone)
    alone.dispose()
    first.dispose()
  }
  straight.dispose()
})
