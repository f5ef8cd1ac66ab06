import { expect, test } from 'vitest'
import { connectVllm } from '../../src/rollout/index.js'
import { request, samples } from '../support/real-servers.js'
import { getJson, metric } from './http.js'
import { describeRealEngine } from './real-engine.js'

describeRealEngine({
  type: 'vllm',
  connect: connectVllm,
  sleeps: true,
  ranks: 'all',
  seeds: 'kept',
  running: url => metric(url, 'vllm:num_requests_running'),
  cachedTokens: url => metric(url, 'vllm:prefix_cache_hits_total'),
  async adapters(url) {
    const { data } = (await getJson(`${url}/v1/models`)) as { data: { id: string; parent: string | null }[] }
    return data.filter(({ parent }) => parent !== null).map(({ id }) => id)
  },
  further(suite) {
    test('a sample is a function of its seed, prompt and index', async () => {
      const generator = await suite.open(suite.a)
      const ask = async (id: string, seed: number): Promise<string[]> => {
        const found = await samples(generator, [request(id, { promptId: 'p', n: 3, sampling: { seed } })])
        return found.sort((x, y) => x.sample - y.sample).map(({ responseIds }) => responseIds.join())
      }
      const first = await ask('one', 5)
      expect(await ask('two', 5)).toEqual(first)
      expect(await ask('three', 6)).not.toEqual(first)
      expect(new Set(first).size).toBe(3)
    })
  },
})
