import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedGenerator, DistributedModel, type World } from '../../src/distributed/index.js'
import { packValue, unpackValue } from '../../src/distributed/packed-value.js'
import { LocalModel } from '../../src/model/index.js'
import { type GenerationRequest, LocalEngine, type Outcome } from '../../src/rollout/index.js'
import { generatorContract } from '../rollout/generator-contract.js'
import { trainSteps } from '../support/distributed.js'
import { completed } from '../support/generation.js'
import { fixture, sequences } from '../support/models.js'
import { type StartedRanks, startRanks } from '../support/ranks.js'

const directory = fixture('qwen2')
const options = { role: 'language', dtype: 'float32' } as const
let world: World
let model: DistributedModel<'language'>
let own: LocalModel<'language'>
beforeAll(async () => {
  world = (await startRanks(2)).world
  model = await DistributedModel.load<'language'>(world, directory, options)
  own = await LocalModel.load<'language'>(directory, options)
})
afterAll(async () => {
  own.dispose()
  model.dispose()
  await world.close()
})

generatorContract('DistributedGenerator', () => DistributedGenerator.open(model, { eosIds: [2] }))
generatorContract('DistributedGenerator with few places', () =>
  DistributedGenerator.open(model, { eosIds: [2], maxSequences: 2 }),
)

async function collect(stream: AsyncIterable<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for await (const outcome of stream) outcomes.push(outcome)
  return outcomes
}

const requests = (count: number): GenerationRequest[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `r${i}`,
    promptIds: Int32Array.from({ length: 2 + (i % 5) }, (_, t) => 5 + ((3 * i + t) % 20)),
    n: 1 + (i % 3),
    sampling: { seed: 7, maxNewTokens: 4 + (i % 9), temperature: 0.9, topLogprobs: 2, promptLogprobs: 0 },
  }))

const numbersOf = (outcomes: readonly Outcome[]) =>
  outcomes
    .map(outcome => completed(outcome))
    .map(({ timings: _, ...rest }) => rest)
    .sort((a, b) => a.requestId.localeCompare(b.requestId) || a.sample - b.sample)

test('samples are those of one engine, to the bit, before and after steps; both ranks take part', async () => {
  const one = new LocalEngine(own, { eosIds: [2] })
  const two = await DistributedGenerator.open(model, { eosIds: [2] })
  const loads: (readonly number[])[] = []
  const both = async (): Promise<void> => {
    const expected = numbersOf(await collect(one.generate(requests(24))))
    const found = await collect(two.generate(requests(24), { onToken: () => loads.push(two.loads) }))
    expect(numbersOf(found)).toEqual(expected)
  }
  await both()
  expect(loads.some(([a, b]) => a! > 0 && b! > 0)).toBe(true)
  const batch = () => sequences([9, 5, 7, 3])
  await trainSteps(own, 2, batch)
  await trainSteps(model, 2, batch)
  // The copies are trained by sums in another order: the weights of one process are taken over.
  const { version } = own
  expect(model.version).toBe(version)
  for (const engine of [one, two]) await engine.updateWeights({ version })
  const after = numbersOf(await collect(two.generate(requests(12))))
  expect(after.every(sample => sample.policyVersion === version)).toBe(true)
  expect(numbersOf(await collect(two.generate(requests(12))))).toEqual(after)
  const alone = new LocalEngine(model.local, { eosIds: [2] })
  expect(numbersOf(await collect(alone.generate(requests(12))))).toEqual(after)
  for (const engine of [one, two, alone]) await engine.close()
})

test('a conversation stays on one rank, until it is released', async () => {
  const two = await DistributedGenerator.open(model, { eosIds: [2] })
  const talk = async (session: string): Promise<number[]> => {
    let ids = Int32Array.of(5, 6, 7)
    for (let turn = 0; turn < 3; turn++) {
      const sampling = { seed: 3, maxNewTokens: 4, ignoreEos: true }
      const [outcome] = await collect(
        two.generate([{ id: `${session}-${turn}`, promptId: 'p', promptIds: ids, session, sampling }]),
      )
      const { promptIds, responseIds } = completed(outcome)
      ids = Int32Array.of(...promptIds, ...responseIds, 9)
    }
    two.release(session)
    return [...ids]
  }
  const [a, b] = await Promise.all([talk('a'), talk('b')])
  expect(a).toEqual(b)
  await two.close()
})

test('a rank that is lost ends the iteration with its name, and no sample counts as failed', async () => {
  const ranks: StartedRanks = await startRanks(2)
  const policy = await DistributedModel.load<'language'>(ranks.world, directory, options)
  const generator = await DistributedGenerator.open(policy, { eosIds: [2] })
  const outcomes: Outcome[] = []
  const reading = (async () => {
    const endless = Array.from({ length: 8 }, (_, i) => ({
      ...{ id: `e${i}`, promptIds: Int32Array.of(5, 6) },
      sampling: { seed: 1, maxNewTokens: 1e6, ignoreEos: true },
    }))
    for await (const outcome of generator.generate(endless)) outcomes.push(outcome)
  })()
  ranks.children[0]!.process.kill('SIGKILL')
  await expect(reading).rejects.toThrow(/^rank 1 \(.*\) is gone/)
  expect(outcomes.filter(({ kind }) => kind !== 'completed')).toEqual([])
  await generator.close()
})

test('objects with arrays and numbers that JSON lacks come back as they were', () => {
  const value = {
    a: [Float32Array.of(1, Number.NaN)],
    b: { c: Number.NEGATIVE_INFINITY, d: Int32Array.of(3) },
    e: null,
  }
  const { body, arrays } = packValue(value)
  expect(unpackValue({ body: JSON.parse(JSON.stringify(body)), arrays })).toEqual(value)
})
