/** Every sample exactly once, whatever becomes of the servers. */
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GenerationRequest, Outcome } from '../../../src/rollout/index.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { toyGreedy, toyWeights } from '../../support/doubles/toy-model.js'
import { completed } from '../../support/generation.js'
import { greedy, kinds, outcomesOf, prompt, world } from '../../support/remote.js'

const requests = (count: number, options: Parameters<typeof greedy>[1] = {}): GenerationRequest[] =>
  Array.from({ length: count }, (_, i) => greedy(`r${i}`, { promptIds: [...prompt, 3 + (i % 300)], ...options }))

const names = (outcomes: readonly Outcome[]): string[] =>
  outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`).sort()

/** Once each, and right. */
function expectEach(outcomes: readonly Outcome[], asked: readonly GenerationRequest[], tokens: number): void {
  const all = asked.flatMap(({ id, n = 1 }) => Array.from({ length: n }, (_, sample) => `${id}/${sample}`))
  expect(names(outcomes)).toEqual(all.sort())
  for (const outcome of outcomes) {
    const { promptIds, responseIds } = completed(outcome)
    expect([...responseIds]).toEqual(toyGreedy(promptIds, tokens, toyWeights(0)))
  }
}

const generations = (server: EngineServer, path: string): number => server.count(path)

describe.each([kinds[0]!, kinds[2]!])('$name', kind => {
  test('one is 50 times slower and one is killed midway: all samples arrive once', { timeout: 60_000 }, async () => {
    const { generator, servers, events } = await world(kind, { servers: 3, maxInFlight: 16 })
    const [fast, slow, doomed] = servers as [EngineServer, EngineServer, EngineServer]
    for (const { engine } of servers) engine.msPerToken = 2
    slow.engine.msPerToken = 100
    const asked = requests(150, { maxNewTokens: 60 })
    const outcomes: Outcome[] = []
    for await (const outcome of generator.generate(asked)) {
      outcomes.push(outcome)
      if (outcomes.length === 40) await doomed.stop()
    }
    expectEach(outcomes, asked, 60)
    expect(events.some(({ kind: what, url }) => what === 'drained' && url === doomed.url)).toBe(true)
    expect(generations(fast, kind.path)).toBeGreaterThan(60)
  })

  test('all are away for a while: samples wait, and fail when patience ends', { timeout: 30_000 }, async () => {
    const { generator, servers } = await world(kind, { servers: 2, patienceMs: 1500 })
    for (const { engine } of servers) engine.msPerToken = 1
    const collecting = outcomesOf(generator, requests(6, { maxNewTokens: 100 }))
    await delay(50)
    for (const server of servers) await server.stop()
    const outcomes = await collecting
    expect(outcomes.map(outcome => (outcome.kind === 'failed' ? outcome.reason : outcome.kind))).toEqual(
      Array.from({ length: 6 }, () => 'unreachable'),
    )
    for (const { url } of servers) expect(JSON.stringify(outcomes[0])).toContain(url)
  })
})

test('whatever servers do, each sample has one outcome', { timeout: 120_000 }, async () => {
  const kind = kinds[0]!
  const trouble = fc.constantFrom('cut', 'abort', 'status', 'spoil', 'restart', 'stop-start', 'none')
  await fc.assert(
    fc.asyncProperty(fc.array(trouble, { minLength: 3, maxLength: 12 }), fc.boolean(), async (troubles, streams) => {
      const { generator, servers } = await world(kind, { servers: 2, maxInFlight: 4 })
      for (const { engine } of servers) engine.msPerToken = 1
      const asked = requests(24, { n: 1, maxNewTokens: 10 })
      const outcomes: Outcome[] = []
      const stream = generator.generate(asked, streams ? { onToken: () => {} } : {})
      for await (const outcome of stream) {
        outcomes.push(outcome)
        const server = servers[outcomes.length % 2]!
        const next = troubles[outcomes.length - 1] ?? 'none'
        if (next === 'cut') server.fault({ kind: 'cut', tokens: 3 })
        if (next === 'abort') server.fault({ kind: 'abort', tokens: 2 })
        if (next === 'status') server.fault({ kind: 'status', status: 500 })
        if (next === 'spoil') server.fault({ kind: 'spoil', how: 'truncated-json' })
        if (next === 'restart') await server.restart()
        if (next === 'stop-start') {
          await server.stop()
          await server.start()
        }
      }
      expectEach(outcomes, asked, 10)
      await generator.close()
      for (const server of servers) await server.stop()
    }),
    { numRuns: 12 },
  )
})
