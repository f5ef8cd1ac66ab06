import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedGenerator, DistributedModel, measureRanks, type World } from '../../src/distributed/index.js'
import { LocalModel } from '../../src/model/index.js'
import { type Generator, LocalEngine, type Sample } from '../../src/rollout/index.js'
import { expectClose } from '../support/close.js'
import { describeCuda, device, onCuda } from '../support/device.js'
import { tinyDirectory, trainSteps, weightsOf } from '../support/distributed.js'
import { completed } from '../support/generation.js'
import { sequences, temporary } from '../support/models.js'
import { startRanks } from '../support/ranks.js'
import { widerDirectory } from '../support/tiny-model.js'

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

/**
 * Every rank generates. On the CPU each sample is that of one engine; on CUDA, where sums of 16 bits depend on what runs beside a sample,
 * its log-probabilities are those that the model gives it.
 */
async function expectSamplesOfOneEngine(world: World): Promise<void> {
  const options = { role: 'language', dtype: onCuda ? 'bfloat16' : 'float32' } as const
  // Heads of a size that kernels have.
  const wider = await widerDirectory()
  const one = await LocalModel.load(wider, { ...options, device })
  const ranks = await DistributedModel.load<'language'>(world, wider, options)
  const alone = new LocalEngine(one, { eosIds: [2], cacheBytes: 1 << 24 })
  const together = await DistributedGenerator.open(ranks, { eosIds: [2], cacheBytes: 1 << 24 })
  const sampled = async (engine: Generator) => {
    const found = new Map<string, Sample>()
    const requests = Array.from({ length: 9 }, (_, i) => ({
      ...{ id: `r${i}`, n: 2, promptIds: Int32Array.from({ length: 2 + (i % 4) }, (_, t) => 3 + i + t) },
      sampling: { seed: 5, maxNewTokens: 6, ignoreEos: true },
    }))
    for await (const outcome of engine.generate(requests))
      found.set(`${outcome.requestId}/${outcome.sample}`, completed(outcome))
    return found
  }
  const expected = await sampled(alone)
  const found = await sampled(together)
  expect([...found.keys()].toSorted()).toEqual([...expected.keys()].toSorted())
  for (const [name, sample] of found) {
    if (onCuda) {
      const ids = Int32Array.of(...sample.promptIds, ...sample.responseIds)
      const [scored] = await one.score([ids])
      expectClose(sample.logprobs.raw!, scored!.logprobs.slice(-sample.responseIds.length), 0.15)
      continue
    }
    expect([...sample.responseIds], name).toEqual([...expected.get(name)!.responseIds])
    expectClose(sample.logprobs.raw!, expected.get(name)!.logprobs.raw!, 1e-4)
  }
  for (const engine of [alone, together]) await engine.close()
  for (const model of [one, ranks]) model.dispose()
}

test('two ranks on one device, through gloo, train and generate as one process does', async () => {
  const { world } = await startRanks(2, { device })
  await expectAsOneProcess(world)
  await expectSamplesOfOneEngine(world)
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
  test('one rank generates as one engine does', () => expectSamplesOfOneEngine(world))
  test('the all-reduce is measured', async () => {
    const { backend, ranks } = await measureRanks(world)
    expect(backend).toBe('nccl')
    expect(ranks[0]!.gflops).toBeGreaterThan(0)
  })
  test('an aborted group refuses everything', async () => {
    const { world: other } = await startRanks(1, { device, backend: 'nccl', job: 'aborted' })
    other.fail(new Error('given up'))
    await expect(other.group.barrier()).rejects.toThrow('given up')
    await other.close()
  })
})
