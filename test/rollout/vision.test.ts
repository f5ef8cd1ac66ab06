import { afterAll, describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import type { GenerationRequest } from '../../src/rollout/index.js'
import { LocalEngine } from '../../src/rollout/local/engine.js'
import type { LocalEngineOptions } from '../../src/rollout/local/engine-options.js'
import { expectClose } from '../support/close.js'
import { collect } from '../support/generation.js'
import { placed, readVisionCase, visionFamilies } from '../support/vision-models.js'

describe.each(visionFamilies)('%s', async name => {
  const { directory, golden, pixels, sequences } = await readVisionCase(name)
  const model = await LocalModel.load(directory, { role: 'language' })
  const engine = new LocalEngine(model, { eosIds: [] })
  afterAll(async () => {
    await engine.close()
    model.dispose()
  })

  const request = (row: number, extra: Partial<GenerationRequest> = {}): GenerationRequest => ({
    id: `row ${row}`,
    promptIds: sequences[row]!.ids.slice(0, golden.rows[row]!.prompt_length),
    media: sequences[row]!.media,
    ...extra,
    sampling: { seed: 1, maxNewTokens: 12, temperature: 0, ...extra.sampling },
  })
  /** Ids that the golden continuation never chooses, beside those of media. */
  const others = golden.forbidden.filter(id => ![3, 4, 5, 6].includes(id))
  const greedy = { seed: 1, maxNewTokens: 12, temperature: 0, forbiddenIds: others }
  const all = golden.rows.map((_, row) => request(row, { sampling: greedy }))

  async function expectGolden(options: LocalEngineOptions): Promise<void> {
    const other = new LocalEngine(model, { eosIds: [], ...options })
    const found = await collect(other, all)
    for (const [row, { greedy_12 }] of golden.rows.entries())
      expect([...found.get(`row ${row}/0`)!.responseIds], `row ${row}`).toEqual(greedy_12)
    await other.close()
  }

  test('greedy continuations', async () => {
    await expectGolden({})
  })

  test('prompts in chunks that cut images', async () => {
    await expectGolden({ tokenBudget: 5 })
  })

  test('one at a time', async () => {
    await expectGolden({ maxSequences: 1 })
  })

  test('samples that are preempted go on at their positions', async () => {
    const sampling = { seed: 1, maxNewTokens: 48, temperature: 0 }
    const requests = [1, 3, 6].map(row => request(row, { sampling }))
    const small = new LocalEngine(model, { eosIds: [], cacheBytes: model.config.decoder.layers * 33_000 })
    const [found, expected] = [await collect(small, requests), await collect(engine, requests)]
    expect(small.counts.preemptions).toBeGreaterThan(0)
    for (const [id, { responseIds }] of expected) expect(found.get(id)!.responseIds, id).toEqual(responseIds)
    await small.close()
  })

  test('log-probabilities are those of score, of samples too', async () => {
    const row = 5
    const sampling = { seed: 3, maxNewTokens: 6, temperature: 1, promptLogprobs: 0 }
    const found = await collect(engine, [request(row, { n: 3, sampling })])
    for (const sample of found.values()) {
      const ids = Int32Array.of(...sample.promptIds, ...sample.responseIds)
      const { media } = sequences[row]!
      const trained = new Uint8Array(ids.length).fill(1, 1)
      const [scored] = await model.score([{ ...sequences[row]!, ids, trained, media }])
      expectClose([...sample.promptLogprobs!.logprobs, ...sample.logprobs.raw!], scored!.logprobs, 1e-4)
    }
  })

  test('the samples of a prompt, and later prompts with the same image, share one pass of the tower', async () => {
    model.vision!.release()
    const before = model.vision!.computedPatches
    await collect(engine, [request(1, { n: 4 }), request(6, { n: 2 })])
    await collect(engine, [request(1)])
    const [time, height, width] = pixels.get('image0')!.grid
    expect(model.vision!.computedPatches - before).toBe(time * height * width)
  })

  test('the same ids with another image give another answer', async () => {
    const [first] = sequences[1]!.media
    const other = { ...first!.pixels, hash: 'another', frames: first!.pixels.frames.map(value => 255 - value) }
    const ids = sequences[1]!.ids.slice(0, golden.rows[1]!.prompt_length)
    const found = await collect(engine, [
      request(1, { id: 'a' }),
      request(1, { id: 'b', media: placed(ids, [other], golden) }),
      request(1, { id: 'c' }),
    ])
    const logprobs = (id: string) => found.get(`${id}/0`)!.logprobs.raw
    expect(logprobs('a')).toEqual(logprobs('c'))
    expect(logprobs('a')).not.toEqual(logprobs('b'))
  })

  test('placeholders are never sampled', async () => {
    const sampling = { seed: 5, maxNewTokens: 40, temperature: 30 }
    const found = await collect(engine, [request(0, { n: 12, sampling }), request(1, { n: 12, sampling })])
    const sampled = [...found.values()].flatMap(({ responseIds }) => [...responseIds])
    expect(sampled.length).toBe(24 * 40)
    expect(sampled.filter(id => [3, 4, 5, 6].includes(id))).toEqual([])
  })

  test('media that do not fit their placeholders are refused, and so is a cut through them', async () => {
    const outcomes = []
    const requests = [
      request(1, { id: 'none', media: [] }),
      request(0, { id: 'surplus', media: sequences[1]!.media }),
      request(2, { id: 'one of two', media: sequences[2]!.media.slice(0, 1) }),
      request(1, {
        id: 'cut',
        sampling: { seed: 1, maxNewTokens: 2, truncatePromptTokens: { limit: 10, side: 'left' } },
      }),
    ]
    for await (const outcome of engine.generate(requests)) outcomes.push(outcome)
    expect(Object.fromEntries(outcomes.map(one => [one.requestId, one.kind === 'rejected' && one.reason]))).toEqual({
      none: 'media-mismatch',
      surplus: 'media-mismatch',
      'one of two': 'media-mismatch',
      cut: 'prompt-too-long',
    })
  })

  test('text beside a prompt with images has the bits it has alone', async () => {
    const alone = await collect(engine, [request(0)])
    const beside = await collect(engine, [request(2), request(0), request(4)])
    expect(beside.get('row 0/0')!.logprobs.raw).toEqual(alone.get('row 0/0')!.logprobs.raw)
  })
})
