/** vLLM as one may find it: its default log-probabilities, the OpenAI route alone, and a model with tied embeddings. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartedEngine } from '../../src/launch/index.js'
import { connectVllm, type Generator, logprobsUnder, resolveSampling } from '../../src/rollout/index.js'
import {
  largestDifference,
  prompt,
  request,
  sampleOne,
  samples,
  type TinyModel,
  World,
} from '../support/real-servers.js'

let world: World
let tied: TinyModel
let other: TinyModel
let engine: StartedEngine
let generator: Generator

beforeAll(async () => {
  world = await World.make()
  tied = await world.model('tied', { seed: 1, tied: true })
  other = await world.model('other', { seed: 2, tied: true })
  engine = await world.start('vllm', tied, {
    flags: ['--logprobs-mode', 'raw_logprobs', '--no-enable-scale-out'],
  })
  const { tokenizer, vocabSize } = world
  generator = await connectVllm({ urls: [engine.url], vocabSize, tokenizer })
})
afterAll(async () => {
  await generator?.close()
  await world?.close()
})

test.each([1, 0.7])('raw log-probabilities are ours at temperature %d, and are called raw', async temperature => {
  expect(generator.capabilities.logprobs).toEqual(['raw'])
  const sampling = { temperature, maxNewTokens: 60 }
  for (const sample of await samples(generator, [request('raw', { n: 6, sampling })])) {
    const scored = await tied.score([...sample.promptIds, ...sample.responseIds])
    expect(largestDifference(sample.logprobs.raw!, scored.subarray(sample.promptIds.length - 1))).toBeLessThan(1e-4)
    if (temperature !== 1) expect(sample.logprobs.processed).toBeUndefined()
  }
  const resolved = resolveSampling({ seed: 1, ...sampling }, { vocabSize: world.vocabSize, n: 1 })
  const meanings = logprobsUnder(generator.capabilities.logprobs, resolved)
  expect(meanings).toEqual(temperature === 1 ? ['raw', 'processed'] : ['raw'])
})

test('without an adapter’s memory, adapters are no way to give weights', () => {
  expect(generator.capabilities.weights).toEqual(['directory'])
})

test('tied embeddings: vLLM keeps the old output head, and the proof sees it', async () => {
  await expect(
    generator.updateWeights({ version: 1, directory: other.directory, proof: await other.proof() }),
  ).rejects.toThrow(/weights of version 1 were loaded, but the server gives other log-probabilities/)
  // What it would have served: neither model.
  await generator.updateWeights({ version: 2, directory: other.directory })
  const promptIds = prompt(8, 20)
  const { responseIds } = await sampleOne(generator, promptIds, { temperature: 0, maxNewTokens: 30 })
  expect([...responseIds]).not.toEqual(await other.greedy(promptIds, 30))
  expect([...responseIds]).not.toEqual(await tied.greedy(promptIds, 30))
})
