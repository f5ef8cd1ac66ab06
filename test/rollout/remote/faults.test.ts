/** What goes wrong between us and a server, over both dialects: each costs time, or one sample, and never the run. */
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Outcome, Sample } from '../../../src/rollout/index.js'
import type { Spoiling } from '../../support/doubles/engine-faults.js'
import { toyGreedy, toyLogprobs, toyWeights } from '../../support/doubles/toy-model.js'
import { completed } from '../../support/generation.js'
import { connected, greedy, kinds, outcomesOf, prompt, started, until, world } from '../../support/remote.js'

const first = toyWeights(0)

/** A greedy sample is what the model says, and nothing else. */
function expectSound(outcome: Outcome | undefined, length = 12): Sample {
  const sample = completed(outcome)
  const ids = [...sample.responseIds]
  expect(ids).toEqual(toyGreedy(sample.promptIds, length, first))
  const whole = toyLogprobs([...sample.promptIds, ...ids], first).slice(sample.promptIds.length - 1)
  for (const values of Object.values(sample.logprobs) as Float32Array[]) {
    expect(values).toHaveLength(length)
    for (const [i, value] of values.entries()) expect(value).toBeCloseTo(whole[i]!, 4)
  }
  expect(sample).toMatchObject({ finishReason: 'length', versions: [{ version: 0, start: 0, end: length }] })
  return sample
}

describe.concurrent.each(kinds)('$name', kind => {
  test('refused at the start, then up', async () => {
    const server = await started(kind)
    const { url } = server
    await server.stop()
    const connecting = connected(kind, { urls: [url] })
    await delay(300)
    await server.start()
    const [outcome] = await outcomesOf(await connecting, [greedy('a')])
    expectSound(outcome)
  })

  test('nobody there: an error after the patience, which names the server', async () => {
    const server = await started(kind)
    const { url } = server
    await server.stop()
    await expect(connected(kind, { urls: [url], patienceMs: 300 })).rejects.toThrow(new RegExp(`no server.*${url}`))
  })

  test.each(['whole', 'stream'] as const)('dies in the middle: %s', async transport => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'cut', tokens: 5 }, { times: 2 })
    const seen: number[] = []
    const listening = transport === 'stream' ? { onToken: ({ id }: { id: number }) => seen.push(id) } : {}
    const [outcome] = await outcomesOf(generator, [greedy('a')], listening)
    const { responseIds } = expectSound(outcome)
    expect(server.count(kind.path)).toBeGreaterThan(1)
    if (transport === 'stream') expect(seen).toEqual([...responseIds])
  })

  test('the whole server dies with requests under way, and comes back: every sample once', async () => {
    const { generator, server, events } = await world(kind)
    server.engine.msPerToken = 5
    const requests = Array.from({ length: 10 }, (_, i) => greedy(`r${i}`, { promptIds: [5, 6, 7 + i], n: 2 }))
    const collecting = outcomesOf(generator, requests)
    await until(() => server.engine.generated > 60)
    await server.stop()
    await delay(100)
    await server.restart()
    const outcomes = await collecting
    expect(new Set(outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`)).size).toBe(20)
    expect(outcomes).toHaveLength(20)
    for (const outcome of outcomes) expectSound(outcome)
    expect(events.map(event => event.kind)).toContain('drained')
  })

  test('accepts and never answers: asked again once, then given up', async () => {
    const { generator, server } = await world(kind, { requestTimeoutMs: 2000 })
    server.fault({ kind: 'hang' })
    const [once] = await outcomesOf(generator, [greedy('a')])
    expectSound(once)
    server.fault({ kind: 'hang' }, { times: 2 })
    const [twice] = await outcomesOf(generator, [greedy('b')])
    expect(twice).toMatchObject({ kind: 'failed', reason: 'timeout', message: expect.stringMatching(/within 2 s/) })
    expect((await outcomesOf(generator, [greedy('c')]))[0]).toMatchObject({ kind: 'completed' })
  })

  test('busy: asked again when it says so, as often as it says so', async () => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'status', status: 429, retryAfter: '1' })
    const before = performance.now()
    expectSound((await outcomesOf(generator, [greedy('a')]))[0])
    expect(performance.now() - before).toBeGreaterThan(950)
    server.fault({ kind: 'status', status: 503, retryAfter: '0' }, { times: 8 })
    expectSound((await outcomesOf(generator, [greedy('b')]))[0])
    server.fault({ kind: 'status', status: 429 })
    expectSound((await outcomesOf(generator, [greedy('c')]))[0])
  })

  test('busy until a date', async () => {
    const { generator, server } = await world(kind)
    // Dates have no milliseconds: this one is one to two seconds away.
    const retryAfter = new Date(Date.now() + 2000).toUTCString()
    server.fault({ kind: 'status', status: 503, retryAfter })
    const [outcome] = await outcomesOf(generator, [greedy('a')])
    expectSound(outcome)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(retryAfter) - 20)
    server.fault({ kind: 'status', status: 429, retryAfter: 'soon' })
    expectSound((await outcomesOf(generator, [greedy('b')]))[0])
  })

  test('connections are used again, and one that was closed meanwhile costs nobody a sample', async () => {
    const { generator, server, events } = await world(kind)
    const before = server.connections
    for (let i = 0; i < 5; i++) expectSound((await outcomesOf(generator, [greedy(`one${i}`)]))[0])
    expect(server.connections - before).toBeLessThanOrEqual(1)
    // As a server does that ends an idle connection while a request is on its way to it.
    server.fault({ kind: 'reset' }, { times: 4 })
    const outcomes = await outcomesOf(
      generator,
      Array.from({ length: 12 }, (_, i) => greedy(`r${i}`)),
    )
    expect(outcomes).toHaveLength(12)
    for (const outcome of outcomes) expectSound(outcome)
    expect(events.map(event => event.kind)).not.toContain('drained')
  })

  test('an idle connection is left before the server leaves it', async () => {
    const { generator, server } = await world(kind)
    expectSound((await outcomesOf(generator, [greedy('a')]))[0])
    const { connections } = server
    await delay(4300)
    expectSound((await outcomesOf(generator, [greedy('b')]))[0])
    expect(server.connections).toBe(connections + 1)
  })

  test('closing ends the work on the server', async () => {
    const { generator, server } = await world(kind)
    server.engine.msPerToken = 20
    const collecting = outcomesOf(generator, [greedy('a', { maxNewTokens: 200, n: 4 })])
    await until(() => server.engine.running === 4)
    await generator.close()
    expect((await collecting).map(outcome => 'finishReason' in outcome && outcome.finishReason)).toEqual(
      Array.from({ length: 4 }, () => 'abort'),
    )
    await until(() => server.engine.running === 0)
  })

  test.each([500, 503])(
    '%i: asked again, and after five the sample has failed in its words',
    async status => {
      const { generator, server } = await world(kind)
      const body = { error: { message: 'the scheduler hiccuped' } }
      server.fault({ kind: 'status', status, body })
      expectSound((await outcomesOf(generator, [greedy('a')]))[0])
      const when = (asked: unknown): boolean => JSON.stringify(promptOf(asked)) === '[7,8,9]'
      server.fault({ kind: 'status', status, body }, { times: 100, when })
      const [failed] = await outcomesOf(generator, [greedy('b', { promptIds: [7, 8, 9] })])
      expect(failed).toMatchObject({ kind: 'failed', reason: 'engine', message: expect.stringContaining('hiccuped') })
      expect(server.received.filter(one => one.path === kind.path && when(one.body))).toHaveLength(5)
      expectSound((await outcomesOf(generator, [greedy('c')]))[0])
    },
    30_000,
  )

  const spoilings: readonly Spoiling[] = [
    'truncated-json',
    'not-json',
    'wrong-json',
    'fewer-completions',
    'more-completions',
    'missing-ids',
    'short-logprobs',
    'nan-logprobs',
    'strange-ids',
  ]
  test.each(spoilings)('%s is no answer: asked again, and after three the sample has failed', async how => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'spoil', how })
    expectSound((await outcomesOf(generator, [greedy('a')]))[0])
    expect(server.count(kind.path)).toBe(2)
    server.fault({ kind: 'spoil', how }, { times: 3 })
    const [failed] = await outcomesOf(generator, [greedy('b')])
    expect(failed).toMatchObject({ kind: 'failed', reason: 'protocol' })
  })

  test.each(spoilings)('%s in a stream: what came before is kept, and told once', async how => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'spoil', how })
    const seen: number[] = []
    const [outcome] = await outcomesOf(generator, [greedy('a')], { onToken: ({ id }) => seen.push(id) })
    expect(seen).toEqual([...expectSound(outcome).responseIds])
  })

  test('ended by the server: goes on from what there is', async () => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'abort', tokens: 5 })
    server.fault({ kind: 'abort', tokens: 3 })
    expectSound((await outcomesOf(generator, [greedy('a')]))[0])
    const asked = server.received.filter(({ path }) => path === kind.path).map(({ body }) => promptOf(body))
    const ids = toyGreedy(prompt, 8, first)
    expect(asked).toEqual([prompt, [...prompt, ...ids.slice(0, 5)], [...prompt, ...ids]])
  })

  test('a sampled response that was cut off goes on with the numbers it would have had, or with new ones', async () => {
    const { generator, server } = await world(kind)
    const request = greedy('a', { temperature: 1, maxNewTokens: 30 })
    const [whole] = await outcomesOf(generator, [request])
    server.fault({ kind: 'abort', tokens: 11 })
    const [parts] = await outcomesOf(generator, [request])
    const [one, two] = [completed(whole).responseIds, completed(parts).responseIds]
    expect([...two.subarray(0, 11)]).toEqual([...one.subarray(0, 11)])
    expect(two).toHaveLength(30)
    if (kind.name === 'SGLang') expect([...two]).toEqual([...one])
    else expect([...two.subarray(11, 22)]).not.toEqual([...one.subarray(0, 11)])
  })

  test('a prompt that does not fit is its own outcome, whoever finds out', async () => {
    const { generator, server } = await world(kind)
    const long = Array.from({ length: generator.maxLength }, () => 5)
    const words =
      kind.name === 'SGLang'
        ? { error: { message: "The input (600 tokens) is longer than the model's context length (512 tokens)." } }
        : {
            error: {
              message: "This model's maximum context length is 256 tokens.",
              type: 'BadRequestError',
              code: 400,
            },
          }
    server.fault({ kind: 'status', status: 400, body: words })
    const outcomes = await outcomesOf(generator, [greedy('refused')])
    outcomes.push(...(await outcomesOf(generator, [greedy('long', { promptIds: long, n: 2 }), greedy('fine')])))
    const told = outcomes.map(outcome => [outcome.requestId, 'reason' in outcome ? outcome.reason : outcome.kind])
    expect(told.sort()).toEqual([
      ['fine', 'completed'],
      ['long', 'prompt-too-long'],
      ['long', 'prompt-too-long'],
      ['refused', 'prompt-too-long'],
    ])
    expect(server.count(kind.path)).toBe(2)
  })

  test('ids that would end a server are never sent', async () => {
    const { generator, server } = await world(kind)
    const bad = [[5, 320], [-1], []].map((promptIds, i) => greedy(`bad${i}`, { promptIds }))
    const outcomes = await outcomesOf(generator, bad)
    expect(outcomes.map(outcome => 'reason' in outcome && outcome.reason).sort()).toEqual([
      'empty-prompt',
      'token-out-of-range',
      'token-out-of-range',
    ])
    expect(server.count(kind.path)).toBe(0)
  })

  test('what a server refuses is the sample’s failure in its words, asked once', async () => {
    const { generator, server } = await world(kind)
    server.fault({ kind: 'status', status: 400, body: { error: { message: 'logit_bias is not for you' } } })
    const [failed] = await outcomesOf(generator, [greedy('a')])
    expect(failed).toMatchObject({ kind: 'failed', reason: 'engine', message: expect.stringContaining('not for you') })
    expect(server.count(kind.path)).toBe(1)
  })

  test('a key: sent, and never shown', async () => {
    const { generator, server } = await world(kind, { apiKey: 'open-sesame' })
    expectSound((await outcomesOf(generator, [greedy('a')]))[0])
    const wrong = connected(kind, { urls: [server.url], apiKey: 'wrong-key-123' })
    await expect(wrong).rejects.toThrow(/401/)
    await expect(wrong).rejects.not.toThrow(/wrong-key-123/)
  })

  test('a first token of its own temperature is asked for alone', async () => {
    const { generator, server } = await world(kind)
    const request = greedy('a', { temperature: 0.5, firstTemperature: 2, maxNewTokens: 6 })
    const [outcome] = await outcomesOf(generator, [request])
    const { responseIds } = completed(outcome)
    expect(responseIds).toHaveLength(6)
    const asked = server.received.filter(({ path }) => path === kind.path).map(({ body }) => body)
    expect(asked.map(promptOf)).toEqual([prompt, [...prompt, responseIds[0]]])
    expect(asked.map(body => samplingOf(body))).toMatchObject([
      { temperature: 2, max: 1 },
      { temperature: 0.5, max: 5 },
    ])
  })
})

type Body = Readonly<Record<string, unknown>>
const promptOf = (body: unknown): unknown => {
  const { prompt: text, token_ids, input_ids } = body as Body
  return text ?? token_ids ?? input_ids
}
const samplingOf = (body: unknown): { temperature: unknown; max: unknown } => {
  const { sampling_params = body } = body as Body
  const { temperature, max_tokens, max_new_tokens } = sampling_params as Body
  return { temperature, max: max_tokens ?? max_new_tokens }
}
