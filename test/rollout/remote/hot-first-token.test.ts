/** First tokens hotter than a server takes: drawn here, from the same distribution. */
import { expect, test } from 'vitest'
import { drawHot } from '../../../src/rollout/remote/hot-first-token.js'
import type { RemoteLimits } from '../../../src/rollout/remote/request-task.js'
import { resolveSampling, type SamplingParams } from '../../../src/rollout/sampling.js'
import { completed } from '../../support/generation.js'
import { connected, greedy, kinds, outcomesOf, world } from '../../support/remote.js'

const limits: RemoteLimits = {
  vocabSize: 320,
  maxLength: 256,
  maxPromptLength: 255,
  topLogprobs: 20,
  maxTemperature: 2,
  structured: [],
  structuredNeeds: undefined,
  logprobs: 'processed',
  tokenizer: undefined,
  vision: undefined,
  media: [],
  mediaNeeds: undefined,
  videoRates: [],
  audio: { missing: 'ears' },
  audioId: undefined,
}
const values = [-0.5, -1.2, -2.5, -3, -3.1, -6]
const answer = {
  ids: [10],
  logprobs: [-0.5],
  top: [{ rank: 1, ids: Int32Array.from(values.keys()), logprobs: Float32Array.from(values) }],
  finish: { reason: 'length', stop: undefined },
  versions: undefined,
  promptLogprobs: undefined,
} as const

function shares(given: Partial<SamplingParams>): { share: number[]; logprobs: number[] } {
  const draws = 4000
  const params = { maxNewTokens: 8, firstTemperature: 10, ignoreEos: true, topK: 6, ...given }
  const share = values.map(() => 0)
  const logprobs = values.map(() => Number.NaN)
  for (let seed = 0; seed < draws; seed++) {
    const sampling = resolveSampling({ ...params, seed }, { vocabSize: 320, n: 1 })
    const { ids, logprobs: found } = drawHot(answer, { sampling, limits, promptId: 'p', sample: 0 })
    share[ids[0]!]! += 1 / draws
    logprobs[ids[0]!] = found[0]!
  }
  return { share, logprobs }
}

const softmax = (logits: readonly number[]): number[] => {
  const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0)
  return logits.map(logit => Math.exp(logit) / sum)
}

test('as often as the distribution says, and with its log-probability', () => {
  const { share, logprobs } = shares({})
  for (const [i, probability] of softmax(values.map(value => value / 10)).entries()) {
    expect(share[i]).toBeCloseTo(probability, 1)
    expect(Math.exp(logprobs[i]!)).toBeCloseTo(probability, 5)
  }
})

test('top-k, top-p, min-p, and ids that may not be', () => {
  expect(shares({ topK: 2 }).share.slice(2)).toEqual([0, 0, 0, 0])
  expect(shares({ topK: 2, forbiddenIds: [0] }).share.map(share => share > 0)).toEqual([
    false,
    true,
    true,
    false,
    false,
    false,
  ])
  expect(shares({ topP: 0.3 }).share.filter(share => share > 0)).toHaveLength(2)
  expect(shares({ minP: 0.9 }).share.filter(share => share > 0)).toHaveLength(2)
  expect(shares({ minNewTokens: 1, stopIds: [1] }).share[1]).toBe(0)
})

test('a stop id that is drawn ends the response', () => {
  const sampling = resolveSampling({ seed: 1, maxNewTokens: 8, topK: 1, stopIds: [0] }, { vocabSize: 320, n: 1 })
  const drawn = drawHot(answer, { sampling, limits, promptId: 'p', sample: 0 })
  expect(drawn).toMatchObject({ ids: [0], finish: { reason: 'stop', stop: 0 } })
})

test('over a vLLM server: two requests, the rest as it would go on', async () => {
  const { generator, server } = await world(kinds[0]!)
  const fire = { firstTemperature: 30, topK: 10, temperature: 0.7, topLogprobs: 2, maxNewTokens: 6 }
  const [outcome] = await outcomesOf(generator, [greedy('a', fire)])
  const sample = completed(outcome)
  expect(sample.responseIds).toHaveLength(6)
  expect(sample.topLogprobs).toHaveLength(6)
  expect(sample.topLogprobs![0]!.ids).toHaveLength(2)
  expect(server.count(kinds[0]!.path)).toBe(2)
  const firsts = new Set<number>()
  for (const outcome of await outcomesOf(generator, [greedy('b', { ...fire, n: 30 })]))
    firsts.add(completed(outcome).responseIds[0]!)
  expect(firsts.size).toBeGreaterThan(4)
})

test('what cannot be drawn here is refused', async () => {
  const server = await kinds[0]!.serve().start()
  const generator = await connected(kinds[0]!, { urls: [server.url] })
  const asked = (given: Partial<SamplingParams>) =>
    outcomesOf(generator, [greedy('a', { firstTemperature: 30, temperature: 1, topK: 10, ...given })])
  await expect(asked({ topK: -1 })).rejects.toThrow(/firstTemperature 30: .* 19 likeliest .* set topK/)
  await expect(asked({ topK: 20 })).rejects.toThrow(RangeError)
  await expect(asked({ ignoreEos: false })).rejects.toThrow(/give the engine a tokenizer/)
  await expect(asked({ temperature: 2.5 })).rejects.toThrow(/temperature: the server takes at most 2/)
  await server.stop()
})
