/** Weights and servers that come and go while samples are made, over both dialects: every token is its version's. */
import { describe, expect, test } from 'vitest'
import {
  eventLine,
  type GenerateOptions,
  type Generator,
  type Outcome,
  type WeightsProof,
  type WeightsUpdate,
} from '../../../src/rollout/index.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { adapted, type ToyWeights, toyGreedy, toyLogprobs, toyWeights } from '../../support/doubles/toy-model.js'
import { completed } from '../../support/generation.js'
import { connected, greedy, kinds, outcomesOf, prompt, started, until, world } from '../../support/remote.js'

const proofOf = (weights: ToyWeights): WeightsProof => {
  const ids = Int32Array.from({ length: 40 }, (_, i) => 3 + ((i * 37) % 300))
  return { ids, logprobs: toyLogprobs(ids, weights) }
}
const updateTo = (version: number, given: { lacks?: 'head' } = {}): WeightsUpdate => ({
  version,
  directory: writeToyCheckpoint(version, given),
  proof: proofOf(toyWeights(version)),
})
const adapterOf = (version: number): WeightsUpdate => ({
  version,
  adapter: writeToyAdapter(version),
  proof: proofOf(adapted(toyWeights(0), version)),
})
const one = async (generator: Generator, id: string): Promise<Outcome | undefined> =>
  (await outcomesOf(generator, [greedy(id)]))[0]

function expectFrom(outcome: Outcome | undefined, version: number, weights: ToyWeights): void {
  const sample = completed(outcome)
  expect([...sample.responseIds]).toEqual(toyGreedy(prompt, 12, weights))
  expect(sample).toMatchObject({ policyVersion: version, versions: [{ version, start: 0, end: 12 }] })
}

describe.concurrent.each(kinds)('$name', kind => {
  test('with requests under way, each token is its version’s', async () => {
    const { generator, server } = await world(kind)
    server.engine.msPerToken = 3
    const requests = Array.from({ length: 6 }, (_, i) =>
      greedy(`r${i}`, { promptIds: [9, 8, 7 + i], maxNewTokens: 80 }),
    )
    const collecting = outcomesOf(generator, requests)
    await until(() => server.engine.generated > 100)
    await generator.updateWeights(updateTo(4))
    for (const outcome of await collecting) {
      const { promptIds, responseIds, versions } = completed(outcome)
      const border = versions[0]!.end
      expect(versions).toEqual([
        { version: 0, start: 0, end: border },
        { version: 4, start: border, end: 80 },
      ])
      const before = toyGreedy(promptIds, border, toyWeights(0))
      expect([...responseIds.subarray(0, border)]).toEqual(before)
      // Nothing of the old weights is in what the rest was computed from.
      const rest = toyGreedy([...promptIds, ...before], 80 - border, toyWeights(4))
      expect([...responseIds.subarray(border)]).toEqual(rest)
    }
  })

  test('a mixture of two models is found out by the proof', async () => {
    const { generator, events } = await world(kind, { patienceMs: 300 })
    await generator.updateWeights(updateTo(2))
    await expect(generator.updateWeights(updateTo(3, { lacks: 'head' }))).rejects.toThrow(
      /version 3 were loaded, but the server gives other log-probabilities/,
    )
    expect(await one(generator, 'a')).toMatchObject({ kind: 'failed', reason: 'unreachable' })
    expect(events.filter(event => event.kind === 'proved')).toHaveLength(1)
    await generator.updateWeights(updateTo(4))
    expectFrom(await one(generator, 'b'), 4, toyWeights(4))
  })

  test.each(['whole', 'stream'] as const)('and so when it happens with requests under way: %s', async transport => {
    const { generator, server } = await world(kind)
    await generator.updateWeights(updateTo(6))
    server.engine.msPerToken = 4
    const requests = Array.from({ length: 8 }, (_, i) =>
      greedy(`r${i}`, { promptIds: [9, 8, 7 + i], maxNewTokens: 60 }),
    )
    const collecting = outcomesOf(generator, requests, transport === 'stream' ? { onToken: () => {} } : {})
    await until(() => server.engine.generated > 150)
    await server.restart()
    const outcomes = await collecting
    expect(outcomes).toHaveLength(8)
    for (const outcome of outcomes) {
      const { promptIds, responseIds, versions } = completed(outcome)
      expect([...responseIds]).toEqual(toyGreedy(promptIds, 60, toyWeights(6)))
      expect(versions).toEqual([{ version: 6, start: 0, end: 60 }])
    }
  })

  test('an adapter that was lost with its server is loaded again', async () => {
    const { generator, server } = await world(kind)
    await generator.updateWeights(adapterOf(3))
    await server.restart()
    expectFrom(await one(generator, 'a'), 3, adapted(toyWeights(0), 3))
  })

  test('a second run over a server that has other weights than its own', async () => {
    const server = await started(kind)
    const before = await connected(kind, { urls: [server.url] })
    await before.updateWeights(updateTo(40))
    await before.close()
    const generator = await connected(kind, { urls: [server.url], version: 12 })
    await generator.updateWeights(updateTo(12))
    expectFrom(await one(generator, 'a'), 12, toyWeights(12))
  })

  test('the way of a run that ended while it had paused the server', async () => {
    const server = await started(kind)
    const before = await connected(kind, { urls: [server.url] })
    await before.pause()
    await before.close()
    expectFrom(await one(await connected(kind, { urls: [server.url] }), 'a'), 0, toyWeights(0))
  })

  test('an update does not break off what was begun after it', async () => {
    const { generator, server } = await world(kind)
    server.engine.msPerToken = 30
    const early = outcomesOf(generator, [greedy('a', { maxNewTokens: 20 })])
    await until(() => server.engine.generated > 2)
    await generator.updateWeights(updateTo(2))
    await early
    server.received.length = 0
    const [late] = await outcomesOf(generator, [greedy('b', { maxNewTokens: 240 })])
    expect(completed(late).responseIds).toHaveLength(240)
    expect(server.count(kind.path)).toBe(1)
  })
})

test.each([kinds[0]!, kinds[2]!])('$name: weights that somebody else put there make no sample', async kind => {
  const { generator, server } = await world(kind)
  await generator.updateWeights(updateTo(4))
  server.engine.msPerToken = 3
  const half = async (options: GenerateOptions): Promise<Outcome | undefined> => {
    const { generated } = server.engine
    const collecting = outcomesOf(generator, [greedy('a', { maxNewTokens: 60 })], options)
    await until(() => server.engine.generated > generated + 10)
    server.engine.weights = toyWeights(9)
    server.engine.marker = 'somebody-else'
    return (await collecting)[0]
  }
  // Nothing of a whole answer was taken: it is asked for again, of a server that was given its weights again.
  const whole = completed(await half({}))
  expect([...whole.responseIds]).toEqual(toyGreedy(prompt, 60, toyWeights(4)))
  // Tokens of a stream were told.
  const told = await half({ onToken: () => {} })
  expect(told).toMatchObject({ kind: 'failed', reason: 'protocol', message: expect.stringContaining('somebody-else') })
  expectFrom(await one(generator, 'after'), 4, toyWeights(4))
})

test('a line about a server names it, and names it once', async () => {
  const { generator, server, events } = await world(kinds[0]!)
  await server.stop()
  const waiting = outcomesOf(generator, [greedy('a')])
  await until(() => events.some(({ kind }) => kind === 'drained'))
  await server.start()
  await waiting
  const lines = events.filter(({ kind }) => kind === 'drained' || kind === 'back').map(eventLine)
  expect(lines.at(-1)).toBe(`${server.url}: takes work again`)
  for (const line of lines) expect(line.split(server.url)).toHaveLength(2)
})
