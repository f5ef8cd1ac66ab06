/** What a real server must do through our client, whichever it is: compared with our own model and engine, token by token. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Sample } from '../../src/rollout/index.js'
import { generatorContract } from '../rollout/generator-contract.js'
import { collect, patiently, request } from '../support/real-servers.js'
import { type RealEngine, RealSuite } from './real-suite.js'
import { describeLogprobs } from './server-logprobs.js'
import { describeSampling } from './server-sampling.js'
import { describeWeights } from './server-weights.js'

export function describeRealEngine(real: RealEngine): void {
  const { type, connect, seeds, further } = real
  const suite = new RealSuite(real)
  beforeAll(() => suite.start())
  afterAll(() => suite.world?.close())
  afterEach(() => suite.closeGenerators())

  generatorContract(
    `${type} on this machine`,
    () => connect({ urls: [suite.engine.url], vocabSize: suite.world.vocabSize, version: ++suite.version }),
    {
      seeds,
      // Through the server's other processes and the network.
      settleMs: 3000,
      attempts: 60,
      update: next => {
        suite.loaded = suite.b
        suite.version = next
        return { version: next, directory: suite.b.directory }
      },
    },
  )
  describeLogprobs(suite)
  describeSampling(suite)
  describeWeights(suite)
  further?.(suite)

  test('a server that is killed and started again costs time and nothing else', async () => {
    const generator = await suite.connected()
    // Weights that it was given by this client: others it could not know of.
    await suite.give(generator, suite.b)
    let seen = 0
    const asked = Array.from({ length: 24 }, (_, i) => request(`k${i}`, { n: 2, sampling: { maxNewTokens: 120 } }))
    const collecting = collect(generator.generate(asked, { onToken: () => seen++ }))
    await expect.poll(() => seen, { ...patiently, interval: 5 }).toBeGreaterThan(200)
    process.kill(suite.engine.pid, 'SIGKILL')
    await suite.engine.exited
    const port = Number(new URL(suite.engine.url).port)
    await suite.startServer({ port })
    const outcomes = await collecting
    expect(new Set(outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`)).size).toBe(48)
    expect(outcomes).toHaveLength(48)
    for (const outcome of outcomes) {
      const sample = outcome as Sample
      expect(sample).toMatchObject({ kind: 'completed', finishReason: 'length' })
      expect(sample.versions.map(span => span.version)).toEqual([suite.version])
      // Before and after, the weights are those of the last update, not those of the server's first day.
      await suite.check(suite.b, sample)
    }
  }, 2_400_000)
}
