/** The engine on a device: recorded continuations, and log-probabilities that are `score`'s, however steps were put together. */
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/decoder/index.js'
import { LocalModel } from '../../src/model/index.js'
import { type GenerationRequest, LocalEngine, type LocalEngineOptions, type Sample } from '../../src/rollout/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { describeCuda, device, onCuda } from '../support/device.js'
import { collect, type Golden, numbers } from '../support/generation.js'
import { fixture, readCase } from '../support/models.js'

type Dtype = 'float32' | 'bfloat16' | 'float16'
const dtypes: readonly Dtype[] = onCuda ? ['bfloat16', 'float16'] : ['float32']
/** How far a log-probability may be from `score`'s. */
const allowed: Record<Dtype, number> = { float32: 1e-4, float16: 0.03, bfloat16: 0.15 }
/** How far the best token may be from the recorded one where it is another: as good as equal. */
const margin: Record<Dtype, number> = { float32: 1e-4, float16: 0.02, bfloat16: 0.1 }

type Adapter = NonNullable<Parameters<typeof LocalModel.create>[1]['adapter']>

/** A fixture, or the layers of a 0.5B Qwen2, a few of them. */
function modelOf(name: string, dtype: Dtype, options: { vocabSize?: number; adapter?: Adapter } = {}) {
  const { vocabSize = 2001, ...rest } = options
  if (name !== 'wide') return LocalModel.load(fixture(name), { role: 'language', device, dtype, ...rest })
  const config = parseConfig(
    {
      architectures: ['Qwen2ForCausalLM'],
      hidden_size: 896,
      intermediate_size: 4864,
      num_attention_heads: 14,
      num_key_value_heads: 2,
      num_hidden_layers: 3,
      vocab_size: vocabSize,
      max_position_embeddings: 512,
      tie_word_embeddings: true,
    },
    'config.json',
  )
  return LocalModel.create(config, { role: 'language', seed: 3, device, dtype, ...rest })
}

/** How far log-probabilities of what was sampled, and of prompts where asked for, are from `score`'s, at most. */
async function offScore(model: LocalModel<'language'>, found: readonly Sample[]): Promise<number> {
  const scores = await model.score(
    found.map(({ promptIds, responseIds }) => Int32Array.from([...promptIds, ...responseIds])),
  )
  let worst = 0
  for (const [i, { promptIds, logprobs, promptLogprobs }] of found.entries()) {
    const expected = scores[i]!.logprobs
    for (const [t, value] of logprobs.raw!.entries())
      worst = Math.max(worst, Math.abs(value - expected[promptIds.length - 1 + t]!))
    for (const [t, value] of promptLogprobs?.logprobs.entries() ?? [])
      worst = Math.max(worst, Math.abs(value - expected[t]!))
  }
  return worst
}

const names = onCuda ? ['llama', 'llama31rope', 'mistral', 'olmo2', 'qwen2', 'qwen3', 'smollm3'] : ['llama', 'qwen3']
describe.each(dtypes.flatMap(dtype => names.map(name => ({ dtype, name }))))('$name in $dtype', ({ dtype, name }) => {
  test('greedy continuations are the recorded ones, except where two tokens are as good as equal', async () => {
    const { sequences, greedy_24: expected } = readCase<Golden>(name)
    const model = await modelOf(name, dtype)
    const exact = await LocalModel.load(fixture(name), { role: 'language' })
    const engine = new LocalEngine(model, { maxSequences: 8, eosIds: [2] })
    const requests = sequences.map((ids, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from(ids),
      // As they were made: the end-of-sequence token is suppressed throughout.
      sampling: { seed: 1, temperature: 0, maxNewTokens: 24, minNewTokens: 24 },
    }))
    const found = await collect(engine, requests)
    for (const [i, ids] of sequences.entries()) {
      const { responseIds } = found.get(`${i}/0`)!
      const wanted = expected[i]!
      const at = wanted.findIndex((id, t) => id !== responseIds[t])
      if (at < 0) continue
      const [logits] = await exact.nextLogits([Int32Array.from([...ids, ...wanted.slice(0, at)])])
      const off = logits![wanted[at]!]! - logits![responseIds[at]!]!
      expect(off, `prompt ${i}, token ${at}`).toBeLessThan(margin[dtype])
    }
    await engine.close()
    exact.dispose()
    model.dispose()
  })
})

/** Requests of every kind of option. */
function mixedRequests(): GenerationRequest[] {
  const next = numbers(9)
  return Array.from({ length: 12 }, (_, i) => ({
    id: `${i}`,
    promptIds: Int32Array.from({ length: 1 + next(i % 4 === 0 ? 100 : 30) }, () => 3 + next(300)),
    n: 1 + next(4),
    sampling: {
      seed: 4,
      maxNewTokens: 1 + next(60),
      temperature: [1, 0.8][i % 2]!,
      ...(i % 3 === 0 ? { topK: 20 } : {}),
      ...(i % 5 === 0 ? { minNewTokens: 9, firstTemperature: 2 } : {}),
      ...(i % 6 === 0 ? { topLogprobs: 3, promptLogprobs: 2 } : {}),
      ...(i % 4 === 1 ? { forbiddenIds: [5, 6, 7] } : {}),
    },
  }))
}

type Way = Omit<LocalEngineOptions, 'tokenizer' | 'cacheBytes'> & { blocks?: number; graphs?: 'decode only' }
const ways: Record<string, Way> = {
  'all at once': {},
  'in pieces': { tokenBudget: 16, maxSequences: 5 },
  'with little memory': { blocks: 14, maxSequences: 16 },
  ...(onCuda ? { 'without graphs of prompts': { graphs: 'decode only' } } : {}),
}
const models: [name: string, dtype: Dtype][] = onCuda
  ? [
      ['qwen2', 'bfloat16'],
      ['qwen3', 'bfloat16'],
      ['wide', 'bfloat16'],
      ['llama', 'float16'],
      ['olmo2', 'bfloat16'],
      ['smollm3', 'bfloat16'],
    ]
  : [
      ['qwen2', 'float32'],
      ['olmo2', 'float32'],
      ['smollm3', 'float32'],
    ]

describe.each(models)('samples of %s in %s', (name, dtype) => {
  test.each(Object.entries(ways))('have the log-probabilities that score gives them, %s', async (how, way) => {
    const { blocks, graphs, ...options } = way
    const model = await modelOf(name, dtype)
    const { layers, kvHeads, headDim } = model.config.decoder
    const bytes = dtype === 'float32' ? 4 : 2
    const cacheBytes = blocks === undefined ? undefined : blocks * layers * 2 * kvHeads * headDim * 16 * bytes
    await model.score([Int32Array.of(3, 4)]) // keeps tables
    const before = memoryUse(device).liveTensors
    const engine = new LocalEngine(model, { eosIds: [2], ...options, ...(cacheBytes ? { cacheBytes } : {}) })
    if (graphs === 'decode only')
      (engine as unknown as { core: { device: { mixedLimits: { rows: number } } } }).core.device.mixedLimits.rows = 0
    const requests = mixedRequests()
    const found = [...(await collect(engine, requests)).values()]
    expect(await offScore(model, found)).toBeLessThan(allowed[dtype])
    for (const { requestId, responseIds, topLogprobs, logprobs } of found) {
      const { sampling } = requests[Number(requestId)]!
      if (sampling.topLogprobs) expect(topLogprobs).toHaveLength(responseIds.length)
      for (const [t, { ids, logprobs: theirs, rank }] of topLogprobs?.entries() ?? []) {
        expect(ids).toHaveLength(3)
        expect([...theirs]).toEqual([...theirs].sort((a, b) => b - a))
        expect(rank).toBeGreaterThanOrEqual(1)
        if (rank > 3) expect(logprobs.raw![t]).toBeLessThanOrEqual(theirs[2]!)
        else expect(Math.abs(theirs[rank - 1]! - logprobs.raw![t]!)).toBeLessThan(1e-5)
      }
      if (sampling.forbiddenIds) expect(responseIds.some(id => id >= 5 && id <= 7)).toBe(false)
      if (sampling.minNewTokens)
        expect(responseIds.length).toBeGreaterThanOrEqual(Math.min(9, Number(sampling.maxNewTokens)))
    }
    const { usedBlocks, running, waiting, preemptions } = engine.counts
    expect({ usedBlocks, running, waiting }).toEqual({ usedBlocks: 0, running: 0, waiting: 0 })
    if (how === 'with little memory') expect(preemptions).toBeGreaterThan(0)
    await engine.sleep()
    await engine.wake()
    const again = [...(await collect(engine, requests)).values()]
    const tokens = (samples: readonly Sample[]): number =>
      samples.reduce((sum, { responseIds }) => sum + responseIds.length, 0)
    expect(Math.abs(tokens(again) - tokens(found)), 'after sleep').toBeLessThan(tokens(found) / 4)
    await engine.close()
    expect(memoryUse(device).liveTensors).toBeLessThanOrEqual(before)
    model.dispose()
  })
})

/** Far more requests than places: those that wait come into steps of others, of every size. */
describeCuda('places', () => {
  test('are filled again', async () => {
    const model = await modelOf('wide', 'bfloat16', { vocabSize: 2048 })
    const engine = new LocalEngine(model, { maxSequences: 256 })
    const next = numbers(6)
    const requests = Array.from({ length: 500 }, (_, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from({ length: 1 + next(90) }, () => 3 + next(2000)),
      n: i % 7 === 0 ? 3 : 1,
      sampling: { seed: 4, maxNewTokens: 1 + next(70), ignoreEos: true },
    }))
    const found = [...(await collect(engine, requests)).values()]
    expect(await offScore(model, found)).toBeLessThan(allowed.bfloat16)
    for (const { requestId, responseIds } of found)
      expect(responseIds.length).toBe(requests[Number(requestId)]!.sampling.maxNewTokens)
    await engine.close()
    model.dispose()
  })
})

/** A trained adapter; a move to the host and back; a training step on the weights themselves: graphs see all of it. */
describe('weights that change under an engine', () => {
  const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const
  const adapters = [
    ['with an adapter', { rank: 8, alpha: 16, dropout: 0, targets, seed: 2 }],
    ['without', undefined],
  ] as const
  test.each(adapters)('are sampled from, %s', async (_, adapter) => {
    const next = numbers(5)
    const requests = Array.from({ length: onCuda ? 40 : 6 }, (_, i) => ({
      id: `${i}`,
      promptIds: Int32Array.from({ length: 2 + next(40) }, () => 3 + next(300)),
      sampling: { seed: 4, maxNewTokens: 24 },
    }))
    const given = requests.slice(0, 8).map(({ promptIds }) => promptIds)
    const dtype = dtypes[0]!
    const model = await modelOf(onCuda ? 'wide' : 'qwen2', dtype, adapter ? { adapter } : {})
    const engine = new LocalEngine(model, { maxSequences: 64 })
    const expectScored = async (when: string): Promise<void> => {
      const found = [...(await collect(engine, requests)).values()]
      expect(await offScore(model, found), when).toBeLessThan(allowed[dtype])
    }
    await expectScored('new')
    for (let i = 0; i < 3; i++) {
      await model.forwardBackward(given, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1e-3) })),
      )
      await model.step({ lr: 1e-3 })
    }
    await expectScored('trained')
    await engine.pause()
    await model.offload()
    await model.reload()
    engine.resume()
    await expectScored('moved')
    if (adapter) {
      await model.mergeAdapter()
      await expectScored('merged')
    }
    await engine.close()
    model.dispose()
  })
})
