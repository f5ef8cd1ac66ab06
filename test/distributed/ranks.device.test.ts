import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedModel, type World } from '../../src/distributed/index.js'
import { LocalModel } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { describeCuda, device } from '../support/device.js'
import { tinyDirectory, trainSteps, weightsOf } from '../support/distributed.js'
import { sequences, temporary } from '../support/models.js'
import { startRanks } from '../support/ranks.js'

let directory: string
beforeAll(async () => {
  directory = await tinyDirectory('language')
})

const batch = (step: number) => sequences([5 + step, 9, 2, 7, 3])

async function expectAsOneProcess(world: World): Promise<void> {
  for (const shard of [false, true]) {
    const options = { role: 'language', dtype: 'float32', optimizer: { shard } } as const
    const one = await LocalModel.load(directory, { ...options, device })
    const ranks = await DistributedModel.load(world, directory, options)
    const expected = await one.score(batch(0))
    for (const [i, { logprobs }] of (await ranks.score(batch(0))).entries())
      expectClose(logprobs, expected[i]!.logprobs, 1e-5)
    const norms = await trainSteps(one, 3, batch)
    expectClose(await trainSteps(ranks, 3, batch), norms, norm => 1e-4 * norm)
    const weights = await weightsOf(one)
    for (const [name, numbers] of await weightsOf(ranks)) expectClose(numbers, weights.get(name)!, 1e-4, name)
    const saved = temporary(`state-${world.group.backend}-${shard}`)
    await ranks.saveState(saved)
    await trainSteps(ranks, 1, batch)
    const after = await ranks.checksum()
    await ranks.loadState(saved)
    await trainSteps(ranks, 1, batch)
    expect(await ranks.checksum()).toBe(after)
    for (const model of [one, ranks]) model.dispose()
  }
}

test('two ranks on one device, through gloo, train as one process does', async () => {
  const { world } = await startRanks(2, { device })
  await expectAsOneProcess(world)
  await world.close()
})

// NCCL refuses two ranks on one GPU.
describeCuda('NCCL', () => {
  let world: World
  beforeAll(async () => {
    world = (await startRanks(1, { device, backend: 'nccl' })).world
  })
  afterAll(() => world.close())
  test('one rank trains as one process does', () => expectAsOneProcess(world))
})
