/** Log-probabilities of a real server are those of our own model. */
import { describe, expect, test } from 'vitest'
import { LocalEngine } from '../../src/rollout/index.js'
import { largestDifference, prompt, request, sampleOne, samples } from '../support/real-servers.js'
import { type RealSuite, tolerance } from './real-suite.js'

export function describeLogprobs(suite: RealSuite): void {
  describe('log-probabilities are ours', () => {
    test.each([0, 1, 0.7, 1.5])('temperature %d', async temperature => {
      const generator = await suite.open(suite.a)
      const found = await samples(generator, [
        ...Array.from({ length: 6 }, (_, i) =>
          request(`r${i}`, { promptIds: prompt(i, 5 + 9 * i), n: 2, sampling: { temperature, maxNewTokens: 60 } }),
        ),
      ])
      for (const sample of found) await suite.check(suite.a, sample, temperature)
    })

    test('of what was drawn, among the likeliest alone', async () => {
      const generator = await suite.open(suite.a)
      const [temperature, topK] = [0.8, 20]
      const sampling = { temperature, topK, maxNewTokens: 60 }
      const ours = new LocalEngine(suite.a.model)
      for (const sample of await samples(generator, [request('k', { n: 4, sampling })])) {
        const ids = Int32Array.of(...sample.promptIds, ...sample.responseIds)
        const { promptLogprobs } = await sampleOne(ours, ids, { promptLogprobs: topK, maxNewTokens: 1 })
        const first = sample.promptIds.length - 1
        const raw = promptLogprobs!.logprobs.subarray(first)
        const renormalised = promptLogprobs!.top.slice(first).map(({ ids, logprobs }, i) => {
          expect([...ids]).toContain(sample.responseIds[i])
          return raw[i]! / temperature - Math.log(logprobs.reduce((sum, one) => sum + Math.exp(one / temperature), 0))
        })
        if (sample.logprobs.processed)
          expect(largestDifference(sample.logprobs.processed, renormalised)).toBeLessThan(tolerance)
        if (sample.logprobs.raw) expect(largestDifference(sample.logprobs.raw, raw)).toBeLessThan(tolerance)
        // What SGLang gives lies between the two, and is called neither.
        if (generator.capabilities.logprobs.includes('scaled')) expect(sample.logprobs).toEqual({})
      }
      await ours.close()
    })

    test('of a prompt, and of the likeliest tokens', async () => {
      const generator = await suite.open(suite.a)
      const promptIds = prompt(3, 40)
      const sampling = { promptLogprobs: 3, topLogprobs: 3, maxNewTokens: 8 }
      const ours = new LocalEngine(suite.a.model)
      const theirs = await sampleOne(generator, promptIds, sampling)
      expect(largestDifference(theirs.promptLogprobs!.logprobs, await suite.a.score(promptIds))).toBeLessThan(tolerance)
      const whole = Int32Array.of(...promptIds, ...theirs.responseIds)
      const expected = (await sampleOne(ours, whole, { promptLogprobs: 3, maxNewTokens: 1 })).promptLogprobs!.top
      const found = [...theirs.promptLogprobs!.top, ...theirs.topLogprobs!]
      for (const [i, { ids, logprobs, rank }] of found.entries()) {
        expect([...ids], `position ${i}`).toEqual([...expected[i]!.ids])
        expect(largestDifference(logprobs, expected[i]!.logprobs)).toBeLessThan(tolerance)
        expect(rank).toBe(suite.real.ranks === 'all' ? expected[i]!.rank : Math.min(expected[i]!.rank, 4))
      }
      await ours.close()
    })

    test('the first token at its own temperature', async () => {
      const generator = await suite.open(suite.a)
      const found = await samples(generator, [
        request('fire', { n: 4, sampling: { firstTemperature: 0, maxNewTokens: 20 } }),
      ])
      const [likeliest] = await suite.a.greedy(found[0]!.promptIds, 1)
      for (const sample of found) {
        expect(sample.responseIds[0]).toBe(likeliest)
        expect(sample.responseIds).toHaveLength(20)
        await suite.check(suite.a, sample)
      }
      expect(new Set(found.map(({ responseIds }) => responseIds.join())).size).toBe(4)
    })
  })
}
