import { expect, test } from 'vitest'
import { connectSglang } from '../../src/rollout/index.js'
import { request, samples } from '../support/real-servers.js'
import { getJson, metric } from './http.js'
import { describeRealEngine } from './real-engine.js'

interface Loads {
  loads: { num_running_reqs: number; num_waiting_reqs: number }[]
}

describeRealEngine({
  type: 'sglang',
  connect: connectSglang,
  // Neither on a CPU: without --enable-memory-saver and --enable-deterministic-inference.
  sleeps: false,
  ranks: 'likeliest',
  seeds: 'ignored',
  flags: ['--enable-metrics'],
  async running(url) {
    const { loads } = (await getJson(`${url}/v1/loads?include=core`)) as Loads
    return loads.reduce((sum, one) => sum + one.num_running_reqs + one.num_waiting_reqs, 0)
  },
  cachedTokens: url => metric(url, 'sglang:cached_tokens_total').catch(() => 0),
  async adapters(url) {
    const { data } = (await getJson(`${url}/v1/models`)) as { data: { id: string; parent: string | null }[] }
    return data.filter(({ parent }) => parent !== null).map(({ id }) => id)
  },
  further(suite) {
    test('the server says the version of its weights, and its answers do', async () => {
      const generator = await suite.open(suite.a)
      const version = generator.policyVersion + 1
      await generator.updateWeights({ version, directory: suite.b.directory, proof: await suite.b.proof() })
      const { weight_version: name } = (await getJson(`${suite.engine.url}/model_info`)) as { weight_version: string }
      expect(name).toMatch(new RegExp(`^${version}-`))
      const [sample] = await samples(generator, [request('version')])
      expect(sample!.versions).toEqual([{ version, start: 0, end: 24 }])
      await suite.give(generator, suite.a)
    })
  },
})
