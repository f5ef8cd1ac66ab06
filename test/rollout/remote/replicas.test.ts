/** Several servers as one engine, over both dialects: shared work, and what becomes of it when one of them does not do its part. */
import { describe, expect, test } from 'vitest'
import type { EngineEvent, GenerationRequest, Outcome } from '../../../src/rollout/index.js'
import { atEnd } from '../../support/at-end.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { toyGreedy, toyWeights } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { completed } from '../../support/generation.js'
import { connected, type EngineKind, greedy, kinds, outcomesOf, started, until, world } from '../../support/remote.js'

const many = (count: number, n = 1): GenerationRequest[] =>
  Array.from({ length: count }, (_, i) => greedy(`r${i}`, { promptIds: [9, 8, 7 + i], n }))

function expectAll(outcomes: readonly Outcome[], count: number, version = 0): void {
  expect(outcomes).toHaveLength(count)
  expect(new Set(outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`)).size).toBe(count)
  for (const outcome of outcomes) {
    const { promptIds, responseIds } = completed(outcome)
    expect([...responseIds]).toEqual(toyGreedy(promptIds, responseIds.length, toyWeights(version)))
  }
}

describe.concurrent.each(kinds)('$name', kind => {
  test('all of them work, and a prompt’s samples stay together', async () => {
    const { generator, servers } = await world(kind, { servers: 3 })
    for (const { engine } of servers) engine.msPerToken = 2
    expectAll(await outcomesOf(generator, many(24, 4)), 96)
    const shares = servers.map(server => server.count(kind.path))
    for (const share of shares) expect(share).toBeGreaterThan(12)
    const prompts = servers.map(
      ({ received }) =>
        new Set(received.filter(({ path }) => path === kind.path).map(({ body }) => JSON.stringify(promptOf(body))))
          .size,
    )
    // Most prompts are computed by one of them alone.
    expect(prompts.reduce((a, b) => a + b)).toBeLessThan(48)
  })

  test('a session stays with its server, and leaves it when that one is gone', async () => {
    const { generator, servers } = await world(kind, { servers: 3, maxInFlight: 2 })
    for (const { engine } of servers) engine.msPerToken = 1
    const turn = (session: number, turn: number): GenerationRequest => ({
      ...greedy(`s${session} ${turn}`, { promptIds: [9, 8, 7, session + 1, ...Array(turn).fill(5)] }),
      promptId: `s${session}/turn ${turn}`,
      session: `s${session}`,
    })
    const homes = (): number[][] =>
      Array.from({ length: 9 }, (_, session) =>
        servers.flatMap((server, i) =>
          server.received.some(
            ({ path, body }) => path === kind.path && (promptOf(body) as number[])[3] === session + 1,
          )
            ? [i]
            : [],
        ),
      )
    // Turns of nine sessions come in any order, with more of them than the servers take at a time.
    for (let i = 0; i < 4; i++) {
      const turns = Array.from({ length: 9 }, (_, session) => turn(session, i))
      expectAll(await outcomesOf(generator, i % 2 === 0 ? turns : turns.reverse()), 9)
    }
    for (const home of homes()) expect(home).toHaveLength(1)
    expect(new Set(homes().flat()).size).toBe(3)
    const [gone] = homes()[0]!
    await servers[gone!]!.stop()
    expectAll(await outcomesOf(generator, [turn(0, 4)]), 1)
    expect(homes()[0]).toHaveLength(2)
    generator.release?.('s0')
  })

  test('one that dies midway: its requests are made elsewhere, each sample once', async () => {
    const { generator, servers, events } = await world(kind, { servers: 3 })
    for (const { engine } of servers) engine.msPerToken = 4
    const collecting = outcomesOf(generator, many(60))
    await until(() => servers[1]!.engine.generated > 30)
    await servers[1]!.stop()
    expectAll(await collecting, 60)
    expect(events.filter(({ kind: what, url }) => what === 'drained' && url === servers[1]!.url)).not.toHaveLength(0)
    // And it is given work again when it is back.
    await servers[1]!.restart()
    servers[1]!.received.length = 0
    await until(
      async () => {
        expectAll(await outcomesOf(generator, many(12)), 12)
        return servers[1]!.count(kind.path) > 2
      },
      { everyMs: 300 },
    )
  })

  test('one that is much slower than the others is drained', async () => {
    const { generator, servers, events } = await world(kind, { servers: 2 })
    for (const { engine } of servers) engine.msPerToken = 1
    expectAll(await outcomesOf(generator, many(8)), 8)
    servers[0]!.engine.msPerToken = 10_000
    expectAll(await outcomesOf(generator, many(12)), 12)
    const told = events.find(({ kind: what, message }) => what === 'drained' && message.includes('too slow'))
    expect(told?.url).toBe(servers[0]!.url)
  }, 120_000)

  test('one that never answers does not hold the others up', async () => {
    const { generator, servers } = await world(kind, { servers: 2, requestTimeoutMs: 3000 })
    servers[0]!.fault({ kind: 'hang' }, { times: 4 })
    expectAll(await outcomesOf(generator, many(12)), 12)
  })

  test('all get new weights; one that is away meanwhile gets them when it is back', async () => {
    const { generator, servers } = await world(kind, { servers: 2 })
    await servers[1]!.stop()
    const update = { version: 3, directory: writeToyCheckpoint(3) }
    await generator.updateWeights(update)
    expectAll(await outcomesOf(generator, many(6)), 6, 3)
    await servers[1]!.restart()
    await until(
      async () => {
        expectAll(await outcomesOf(generator, many(12)), 12, 3)
        return servers[1]!.engine.generated > 20
      },
      { everyMs: 300 },
    )
    expect(servers[1]!.engine.weights).toEqual(toyWeights(3))
  })

  test('where none takes the weights, it is told', async () => {
    const { generator, servers } = await world(kind, { servers: 2, patienceMs: 1500 })
    for (const server of servers) await server.stop()
    await expect(generator.updateWeights({ version: 3, directory: writeToyCheckpoint(3) })).rejects.toThrow(
      /no server took the weights of version 3/,
    )
  })

  test('a stop ends the wait for one that would take the weights', async () => {
    const { generator, servers } = await world(kind, { servers: 1 })
    for (const server of servers) await server.stop()
    const stop = new AbortController()
    const update = generator.updateWeights({ version: 3, directory: writeToyCheckpoint(3), signal: stop.signal })
    const reason = new Error('Ctrl-C')
    setTimeout(() => stop.abort(reason), 300)
    await expect(update).rejects.toBe(reason)
  })
})

/** A server of the same address, started otherwise. */
const others: readonly [string, EngineKind, () => EngineServer][] = [
  ['vLLM: other log-probabilities', kinds[0]!, () => new VllmServer({ logprobs: 'processed' })],
  ['vLLM: a shorter context', kinds[0]!, () => new VllmServer({ maxLength: 128 })],
  ['SGLang: other log-probabilities', kinds[2]!, () => new SglangServer({ logprobs: 'raw' })],
  ['SGLang: a shorter context', kinds[2]!, () => new SglangServer({ context: 256 })],
]

test.concurrent.each(others)('%s: one that joins later and does not fit gets no work', async (_, kind, make) => {
  const first = await started(kind)
  const other = await make().start()
  atEnd(() => other.stop())
  await other.stop()
  const events: EngineEvent[] = []
  const urls = [first.url, other.url]
  const generator = await connected(kind, { urls, onEvent: event => events.push(event) })
  await other.start()
  await until(() =>
    events.some(({ url, message }) => url === other.url && message.includes('start all servers with the same options')),
  )
  expectAll(await outcomesOf(generator, many(12)), 12)
  const asked = other.received.map(({ body }) => JSON.stringify(body) ?? '')
  expect(asked.filter(text => text.includes('[9,8,'))).toEqual([])
})

function promptOf(body: unknown): unknown {
  const { prompt, token_ids, input_ids } = body as Readonly<Record<string, unknown>>
  return prompt ?? token_ids ?? input_ids
}
