import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import {
  type GenerationRequest,
  LocalEngine,
  type LocalEngineOptions,
  type Sample,
  type TokenEvent,
} from '../../src/rollout/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { collect, completed, loadModel, numbers, randomIds } from '../support/generation.js'

let model: LocalModel<'language'>
beforeAll(async () => {
  model = await loadModel()
})
afterAll(() => model.dispose())

const engines: LocalEngine[] = []
function open(options: LocalEngineOptions = {}): LocalEngine {
  const engine = new LocalEngine(model, { eosIds: [2], ...options })
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const next = numbers(7)
/** Prompts of very different length, several samples each, sampled in different ways. */
const mixed: GenerationRequest[] = Array.from({ length: 24 }, (_, i) => ({
  id: `r${i}`,
  promptIds: randomIds(next, 1 + next(i % 5 === 0 ? 120 : 20)),
  n: 1 + next(4),
  sampling: {
    seed: 11,
    maxNewTokens: 1 + next(60),
    temperature: [0, 0.7, 1, 1.3][next(4)]!,
    ...(next(2) ? { topK: 1 + next(40) } : {}),
    ...(next(3) === 0 ? { topP: 0.8 } : {}),
    ...(next(4) === 0 ? { minP: 0.05 } : {}),
  },
}))

const content = (found: Map<string, Sample>) =>
  [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { responseIds, finishReason, logprobs }]) => ({
      name,
      ids: [...responseIds],
      finishReason,
      raw: [...logprobs.raw!],
      processed: [...logprobs.processed!],
    }))

describe('the same sample, bit for bit, whatever else is computed', () => {
  let expected: ReturnType<typeof content>
  beforeAll(async () => {
    expected = content(await collect(open(), mixed))
  })

  test('one request at a time, one sample at a time', async () => {
    const engine = open({ maxSequences: 1 })
    const found = new Map<string, Sample>()
    for (const request of mixed) for (const [name, one] of await collect(engine, [request])) found.set(name, one)
    expect(content(found)).toEqual(expected)
  })

  test('in another order, and in pieces', async () => {
    const engine = open({ maxSequences: 13 })
    const shuffled = [...mixed].sort((a, b) => (hash(a.id) < hash(b.id) ? -1 : 1))
    const parts = [shuffled.slice(0, 5), shuffled.slice(5, 17), shuffled.slice(17)]
    const found = await Promise.all(parts.map(part => collect(engine, part)))
    expect(content(new Map(found.flatMap(map => [...map])))).toEqual(expected)
  })

  test('each sample a request of its own', async () => {
    const engine = open()
    const single = mixed.flatMap(request =>
      Array.from({ length: request.n! }, (_, k) => ({
        ...request,
        id: `${request.id}/${k}`,
        promptId: request.id,
        n: 1,
        firstSample: k,
      })),
    )
    const found = await collect(engine, single)
    const renamed = new Map([...found].map(([name, one]) => [name.replace(/\/\d+$/, ''), one]))
    expect(content(renamed)).toEqual(expected)
  })

  test('prompts in small pieces', async () => {
    expect(content(await collect(open({ tokenBudget: 7 }), mixed))).toEqual(expected)
  })

  test('with preemption: a cache that holds a few sequences', async () => {
    const engine = open({ cacheBytes: 14 * blockBytes() })
    const found = await collect(engine, mixed)
    expect(content(found)).toEqual(expected)
    expect(engine.counts.preemptions).toBeGreaterThan(0)
    expect([...found.values()].some(({ timings }) => timings.preemptions > 0)).toBe(true)
  })

  test('asleep in between', async () => {
    const engine = open()
    const collecting = collect(engine, mixed)
    await new Promise(resolve => setTimeout(resolve, 30))
    const before = memoryUse().bytes
    await engine.sleep()
    expect(engine.counts.usedBlocks).toBe(0)
    expect(before - memoryUse().bytes).toBeGreaterThan(1e6)
    await engine.wake()
    expect(content(await collecting)).toEqual(expected)
  })
})

function blockBytes(): number {
  const { layers, kvHeads, headDim } = model.config.decoder
  return layers * 2 * kvHeads * headDim * 16 * 4
}
const hash = (text: string): string => [...text].reverse().join('')

test('log-probabilities are those of score', async () => {
  const found = await collect(open(), mixed)
  const list = [...found.values()]
  const sequences = list.map(({ promptIds, responseIds }) => Int32Array.from([...promptIds, ...responseIds]))
  const scores = await model.score(sequences, { from: list.map(({ promptIds }) => promptIds.length) })
  for (const [i, { logprobs }] of list.entries())
    for (const [t, value] of logprobs.raw!.entries())
      expect(Math.abs(value - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
})

test('processed log-probabilities are those of the tempered distribution', async () => {
  const requests = mixed.map(({ id, promptIds }) => ({
    id,
    promptIds,
    sampling: { seed: 5, maxNewTokens: 20, temperature: 0.6 },
  }))
  const list = [...(await collect(open(), requests)).values()]
  const sequences = list.map(({ promptIds, responseIds }) => Int32Array.from([...promptIds, ...responseIds]))
  const scores = await model.score(sequences, { temperature: 0.6, from: list.map(({ promptIds }) => promptIds.length) })
  for (const [i, { logprobs }] of list.entries())
    for (const [t, value] of logprobs.processed!.entries())
      expect(Math.abs(value - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
})

test("the prompt's log-probabilities are those of score, with n samples and one", async () => {
  const promptIds = randomIds(numbers(3), 40)
  const [score] = await model.score([promptIds])
  for (const n of [1, 3]) {
    const sampling = { seed: 1, maxNewTokens: 2, promptLogprobs: 2 }
    const found = await collect(open({ tokenBudget: 9 }), [{ id: 'p', promptIds, n, sampling }])
    const { promptLogprobs } = found.get('p/0')!
    expect(promptLogprobs!.logprobs).toHaveLength(39)
    for (const [t, value] of promptLogprobs!.logprobs.entries()) expect(value).toBeCloseTo(score!.logprobs[t]!, 4)
    expect(promptLogprobs!.top[5]!.ids).toHaveLength(2)
  }
})

test('top log-probabilities: the likeliest first, and the rank of the sampled token', async () => {
  const promptIds = randomIds(numbers(4), 9)
  const sampling = { seed: 1, maxNewTokens: 12, topLogprobs: 320 }
  const { topLogprobs, responseIds, logprobs } = completed(
    [...(await collect(open(), [{ id: 'p', promptIds, sampling }])).values()][0],
  )
  for (const [t, { rank, ids, logprobs: values }] of topLogprobs!.entries()) {
    expect(ids[rank - 1]).toBe(responseIds[t])
    expect(values[rank - 1]).toBe(logprobs.raw![t])
    expect(values.every((value, i) => i === 0 || value <= values[i - 1]!)).toBe(true)
    expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeCloseTo(1, 4)
  }
})

test('end of sequence, stop ids, and their suppression', async () => {
  const promptIds = randomIds(numbers(5), 12)
  const request = (id: string, sampling: Partial<GenerationRequest['sampling']>): GenerationRequest => ({
    id,
    promptIds,
    promptId: 'same',
    sampling: { seed: 3, maxNewTokens: 40, temperature: 0, ...sampling },
  })
  const engine = open({ eosIds: [] })
  const [free] = (await collect(engine, [request('a', {})])).values()
  const ids = [...free!.responseIds]
  const stop = ids[5]!
  const first = ids.indexOf(stop)
  const found = await collect(engine, [
    request('stop', { stopIds: [stop] }),
    request('late', { stopIds: [stop], minNewTokens: 30 }),
    request('never', { forbiddenIds: [stop] }),
  ])
  expect([...found.get('stop/0')!.responseIds]).toEqual(ids.slice(0, first + 1))
  expect(found.get('stop/0')).toMatchObject({ finishReason: 'stop', stopReason: stop })
  expect([...found.get('late/0')!.responseIds.subarray(0, 30)]).not.toContain(stop)
  expect(found.get('late/0')!.responseIds.length).toBeGreaterThanOrEqual(30)
  expect([...found.get('never/0')!.responseIds]).not.toContain(stop)

  const ends = open({ eosIds: [stop] })
  const ended = await collect(ends, [request('eos', {}), request('ignored', { ignoreEos: true })])
  expect(ended.get('eos/0')).toMatchObject({ finishReason: 'stop', stopReason: undefined })
  expect([...ended.get('eos/0')!.responseIds]).toEqual(ids.slice(0, first + 1))
  expect([...ended.get('ignored/0')!.responseIds]).toEqual(ids)
})

test('FIRE: the first token has its own temperature, the rest are unchanged', async () => {
  const promptIds = randomIds(numbers(6), 12)
  const engine = open()
  const sampling = { seed: 3, maxNewTokens: 4, temperature: 0 }
  const found = await collect(engine, [
    { id: 'cold', promptIds, n: 40, sampling },
    { id: 'fire', promptIds, n: 40, sampling: { ...sampling, firstTemperature: 30 } },
  ])
  const firsts = (id: string) => new Set([...found].filter(([k]) => k.startsWith(id)).map(([, c]) => c.responseIds[0]))
  expect(firsts('cold').size).toBe(1)
  expect(firsts('fire').size).toBeGreaterThan(20)
  for (const [name, { responseIds }] of found) {
    if (!name.startsWith('fire') || responseIds.length < 2) continue
    const again = await collect(engine, [
      {
        id: 'again',
        promptIds: Int32Array.from([...promptIds, responseIds[0]!]),
        sampling: { ...sampling, maxNewTokens: 3 },
      },
    ])
    expect([...again.get('again/0')!.responseIds]).toEqual([...responseIds.subarray(1)])
    break
  }
})

test('a prompt that cannot be answered is an outcome; the others go on', async () => {
  const engine = open({ maxLength: 64, cacheBytes: 3 * blockBytes() })
  const sampling = { seed: 0, maxNewTokens: 4 }
  const ids = (length: number) => randomIds(numbers(1), length)
  const outcomes = new Map<string, string>()
  for await (const outcome of engine.generate([
    { id: 'empty', promptIds: new Int32Array(0), sampling },
    { id: 'long', promptIds: ids(64), n: 2, sampling },
    { id: 'unknown', promptIds: Int32Array.of(5, 320), sampling },
    { id: 'large', promptIds: ids(20), sampling: { ...sampling, maxNewTokens: 40 } },
    { id: 'cut', promptIds: ids(64), sampling: { ...sampling, truncatePromptTokens: { limit: 8, side: 'left' } } },
    { id: 'fine', promptIds: ids(5), sampling },
  ]))
    outcomes.set(`${outcome.requestId}/${outcome.sample}`, outcome.kind === 'rejected' ? outcome.reason : outcome.kind)
  expect(Object.fromEntries(outcomes)).toEqual({
    'empty/0': 'empty-prompt',
    'long/0': 'prompt-too-long',
    'long/1': 'prompt-too-long',
    'unknown/0': 'token-out-of-range',
    'large/0': 'too-large-for-memory',
    'cut/0': 'completed',
    'fine/0': 'completed',
  })
})

test('truncation keeps the side that was not cut', async () => {
  const engine = open()
  const promptIds = Int32Array.from({ length: 20 }, (_, i) => i + 10)
  const request = (side: 'left' | 'right') => ({
    id: side,
    promptIds,
    sampling: { seed: 0, maxNewTokens: 1, truncatePromptTokens: { limit: 3, side } },
  })
  const found = await collect(engine, [request('left'), request('right')])
  expect([...found.get('left/0')!.promptIds]).toEqual([27, 28, 29])
  expect([...found.get('right/0')!.promptIds]).toEqual([10, 11, 12])
})

test('what was aborted is returned, and goes on where it stopped', async () => {
  const engine = open()
  const promptIds = randomIds(numbers(8), 10)
  const sampling = { seed: 9, maxNewTokens: 120, ignoreEos: true }
  const whole = (await collect(engine, [{ id: 'x', promptIds, n: 2, sampling }])).get('x/1')!
  const outcomes: Sample[] = []
  let seen = 0
  const onToken = ({ sample }: TokenEvent): void => {
    if (sample === 1 && ++seen === 20) engine.abort('x')
  }
  for await (const outcome of engine.generate([{ id: 'x', promptIds, n: 2, sampling }], { onToken }))
    outcomes.push(completed(outcome))
  expect(outcomes.map(({ finishReason }) => finishReason)).toEqual(['abort', 'abort'])
  const part = outcomes.find(({ sample }) => sample === 1)!
  expect([...part.responseIds]).toEqual([...whole.responseIds.subarray(0, 20)])
  const continued = { ...sampling, maxNewTokens: 100 }
  const rest = await collect(engine, [
    {
      id: 'y',
      promptId: 'x',
      firstSample: 1,
      promptIds: Int32Array.from([...promptIds, ...part.responseIds]),
      sampling: continued,
    },
  ])
  expect([...rest.get('y/1')!.responseIds]).toEqual([...whole.responseIds.subarray(20)])
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
})

test('outcomes come as each ends, with their times; the rest are cancelled together', async () => {
  const engine = open({ maxSequences: 2 })
  const request = (id: string, maxNewTokens: number): GenerationRequest => ({
    id,
    promptIds: Int32Array.of(5, 6, 7),
    sampling: { seed: 1, maxNewTokens, ignoreEos: true },
  })
  const found: Sample[] = []
  for await (const outcome of engine.generate([request('long', 240), request('a', 3), request('b', 3)])) {
    found.push(completed(outcome))
    if (found.length === 2) engine.abortAll()
  }
  expect(found.map(({ requestId, finishReason }) => [requestId, finishReason])).toEqual([
    ['a', 'length'],
    ['b', 'length'],
    ['long', 'abort'],
  ])
  for (const { timings } of found) {
    const { startedMs, firstTokenMs, finishedMs } = timings
    expect([0, startedMs, firstTokenMs!, finishedMs]).toEqual(
      [0, startedMs, firstTokenMs!, finishedMs].sort((x, y) => x - y),
    )
  }
  // The third waited for the second's place; each counts from its own request.
  expect(found[1]!.timings.startedMs).toBeGreaterThan(found[0]!.timings.startedMs)
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
})

test('a signal ends all of them with what they have', async () => {
  const engine = open()
  const stop = new AbortController()
  const reasons: string[] = []
  for await (const outcome of engine.generate(mixed, { signal: stop.signal })) {
    reasons.push(completed(outcome).finishReason)
    stop.abort()
  }
  expect(reasons).toHaveLength(mixed.reduce((sum, { n }) => sum + n!, 0))
  expect(reasons.at(-1)).toBe('abort')
  await expect(engine.generate(mixed, { signal: stop.signal }).next()).rejects.toThrow('aborted')
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
})

test('a request may take the name of one that has ended', async () => {
  const engine = open()
  const request = { id: 'same', promptIds: randomIds(numbers(1), 5), sampling: { seed: 0, maxNewTokens: 3 } }
  const first = engine.generate([request])
  completed((await first.next()).value)
  const second = engine.generate([
    { ...request, sampling: { ...request.sampling, maxNewTokens: 200, ignoreEos: true } },
  ])
  await expect(engine.generate([request]).next()).rejects.toThrow(/in flight/)
  expect((await first.next()).done).toBe(true)
  expect(completed((await second.next()).value).finishReason).toBe('length')
})

test('a small request is served within a few steps, whatever is queued', async () => {
  const engine = open({ maxSequences: 16 })
  const large = { id: 'large', promptIds: randomIds(numbers(1), 9), n: 600, sampling: { seed: 1, maxNewTokens: 200 } }
  const alone = { id: 'small', promptIds: randomIds(numbers(2), 9), n: 2, sampling: { seed: 1, maxNewTokens: 4 } }
  const expected = content(await collect(engine, [alone]))
  const crowd = engine.generate([{ ...large, sampling: { ...large.sampling, ignoreEos: true } }])
  await expect.poll(() => engine.counts.running, { timeout: 20_000 }).toBe(16)
  const before = engine.counts.steps
  expect(content(await collect(engine, [alone]))).toEqual(expected)
  expect(engine.counts.steps - before).toBeLessThan(20)
  expect(engine.counts.preemptions).toBe(0)
  await crowd.return!()
})

test('leaving the loop cancels the rest', async () => {
  const engine = open()
  for await (const outcome of engine.generate(mixed)) {
    completed(outcome)
    break
  }
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
})

test('a sampling parameter that means nothing is refused before anything runs', async () => {
  const engine = open()
  const promptIds = Int32Array.of(5, 6)
  const sampling = { seed: 0, maxNewTokens: 4 }
  for (const bad of [
    { temperature: -1 },
    { temperature: Number.NaN },
    { topP: 0 },
    { topK: 0 },
    { minP: 2 },
    { maxNewTokens: 0 },
    { maxNewTokens: [1, 2] },
    { stopIds: [320] },
    { seed: 0.5 },
    { stop: ['x'] },
  ])
    await expect(
      engine.generate([{ id: 'a', promptIds, sampling: { ...sampling, ...bad } }]).next(),
      JSON.stringify(bad),
    ).rejects.toThrow(RangeError)
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0 })
})
