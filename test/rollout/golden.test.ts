import { expect, test } from 'vitest'
import { LocalEngine } from '../../src/rollout/index.js'
import { collect, type Golden, loadModel } from '../support/generation.js'
import { readCase } from '../support/models.js'

test.each(['llama', 'llama31rope', 'mistral', 'olmo2', 'qwen2', 'qwen3', 'smollm3'])(
  'greedy continuations of %s are those of transformers',
  async name => {
    const { sequences, greedy_24: expected } = readCase<Golden>(name)
    const model = await loadModel(name)
    const engine = new LocalEngine(model, { eosIds: [2] })
    const requests = sequences.map((ids, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from(ids),
      // As they were made: the end-of-sequence token is suppressed throughout.
      sampling: { seed: 0, temperature: 0, maxNewTokens: 24, minNewTokens: 24 },
    }))
    const found = await collect(engine, requests)
    for (const [i, ids] of expected.entries()) {
      const { responseIds, finishReason, logprobs } = found.get(`${i}/0`)!
      expect([...responseIds], `prompt ${i}`).toEqual(ids)
      expect(finishReason).toBe('length')
      expect(logprobs.raw!.every((value, t) => value <= logprobs.processed![t]!)).toBe(true)
    }
    await engine.close()
    model.dispose()
  },
)
