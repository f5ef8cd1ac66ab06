/** What SGLang is asked and how it is read, against the double that answers as the real one does. */
import { afterEach, describe, expect, test } from 'vitest'
import { connectSglang, type SamplingParams } from '../../../src/rollout/index.js'
import type { GenerationAnswer, GenerationAttempt, ServerFacts } from '../../../src/rollout/remote/dialect.js'
import { ProtocolError, RefusalError } from '../../../src/rollout/remote/errors.js'
import { sglangDialect } from '../../../src/rollout/sglang/dialect.js'
import { SglangServer, type SglangServerOptions } from '../../support/doubles/sglang-server.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import {
  adapted,
  emptyState,
  logitsOf,
  logSoftmax,
  nextState,
  type ToyWeights,
  toyEosId,
  toyGreedy,
  toyLogprobs,
  toyText,
  toyWeights,
} from '../../support/doubles/toy-model.js'
import { until } from '../../support/remote.js'
import { attemptOf, connectionTo } from '../../support/remote-connection.js'

const dialect = sglangDialect()
const P = [58, 185, 41, 110, 227]
const first = toyWeights(0)
const open: SglangServer[] = []

async function serve(options: SglangServerOptions = {}) {
  const server = await new SglangServer(options).start()
  open.push(server)
  const connection = connectionTo(server, options.apiKey)
  return { server, connection, facts: await dialect.probe(connection) }
}
afterEach(async () => {
  for (const server of open.splice(0)) await server.stop()
})

async function send(server: SglangServer, attempt: GenerationAttempt, facts: ServerFacts): Promise<Response> {
  const { path, body } = dialect.generation(attempt, facts)
  const headers = { 'content-type': 'application/json' }
  return fetch(server.url + path, { method: 'POST', body, headers })
}

async function answered(
  server: SglangServer,
  attempt: GenerationAttempt,
  facts: ServerFacts,
): Promise<GenerationAnswer> {
  const answer = await send(server, attempt, facts)
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  if (attempt.transport === 'whole') return dialect.answer(JSON.parse(text), attempt, facts)
  const read = dialect.reader(attempt, facts)
  const events = text
    .split('\n\n')
    .filter(Boolean)
    .map(event => read(event.slice('data: '.length)))
    .filter(event => event !== undefined)
  expect(events.length).toBeGreaterThanOrEqual(Math.min(2, events.at(-1)!.versions?.at(-1)?.end ?? 0))
  return {
    ...events.at(-1)!,
    ids: events.flatMap(({ ids }) => ids),
    logprobs: events.flatMap(({ logprobs }) => logprobs),
    top: events.some(({ top }) => top) ? events.flatMap(({ top }) => top!) : undefined,
  }
}

const close = (found: ArrayLike<number>, expected: ArrayLike<number>): void => {
  expect(found.length).toBe(expected.length)
  for (let i = 0; i < found.length; i++) expect(found[i]).toBeCloseTo(expected[i]!, 5)
}
/** Of a response to a prompt, after temperature. */
function scaled(prompt: readonly number[], ids: readonly number[], temperature: number, weights: ToyWeights): number[] {
  let state = prompt.reduce((before, id) => nextState(before, id, weights), emptyState)
  return ids.map(id => {
    const logprob = logSoftmax(logitsOf(state, weights).map(logit => logit / temperature))[id]!
    state = nextState(state, id, weights)
    return logprob
  })
}

describe('the probe', () => {
  test('a plain server', async () => {
    const { facts } = await serve()
    expect(facts).toMatchObject({
      software: '0.5.23',
      maxLength: 510,
      maxPromptLength: 505,
      logprobs: 'scaled',
      control: 'full',
      marksVersions: true,
      seeds: 'request',
      sleep: false,
      adapters: true,
      structured: ['regex', 'json-schema', 'ebnf'],
    })
  })

  test('what it was started with', async () => {
    const flags = [
      'enable-deterministic-inference',
      'enable-memory-saver',
      'skip-tokenizer-init',
      'disable-lora',
    ] as const
    const { facts } = await serve({ flags, logprobs: 'raw', context: 128 })
    expect(facts).toMatchObject({
      maxLength: 126,
      maxPromptLength: 121,
      logprobs: 'raw',
      seeds: 'position',
      sleep: true,
      adapters: false,
      structured: [],
    })
  })

  test('without grammars it cannot hold responses to a form, and says what it takes', async () => {
    const { server } = await serve({ flags: ['no-grammar'] })
    const generator = await connectSglang({ urls: [server.url], vocabSize: 256 })
    expect(generator.capabilities.structured).toEqual([])
    const structured = { kind: 'regex', pattern: 'a+' } as const
    const request = { id: 'a', promptIds: Int32Array.of(5), sampling: { seed: 1, maxNewTokens: 4, structured } }
    await expect(generator.generate([request]).next()).rejects.toThrow(
      'structured: regex needs a server with a tokenizer and a --grammar-backend, such as xgrammar',
    )
    await generator.close()
  })

  test('a server that a run left paused is resumed', async () => {
    const { connection, server } = await serve()
    await dialect.pause(connection, 'keep')
    // It is there, and takes what it is sent: only to keep it waiting.
    expect(await dialect.isReady(connection)).toBe(true)
    await dialect.probe(connection)
    expect(server.engine.paused).toBe(false)
  })

  test('a wrong key, and a model that does not generate, are errors in words', async () => {
    const { server } = await serve({ apiKey: 'sesame' })
    await expect(dialect.probe(connectionTo(server, 'other'))).rejects.toThrow(/401: Unauthorized.*API key/)
    server.fault({ kind: 'status', status: 200, body: { is_generation: false } }, { on: '/model_info' })
    await expect(dialect.probe(connectionTo(server, 'sesame'))).rejects.toThrow(/does not generate/)
  })

  test('by the names that older servers have for it', async () => {
    const { server, connection } = await serve()
    for (const on of ['/server_info', '/model_info', '/ready'])
      server.fault({ kind: 'status', status: 404, body: { detail: 'Not Found' } }, { on })
    expect(await dialect.isReady(connection)).toBe(true)
    expect(await dialect.probe(connection)).toMatchObject({ software: '0.5.23', maxLength: 510 })
  })

  test('a key of its own for control is named, and a server without ids says which version has them', async () => {
    const { server, connection } = await serve()
    server.fault({ kind: 'status', status: 401, body: { error: 'Unauthorized' } }, { on: '/continue_generation' })
    expect((await dialect.probe(connection)).control).toEqual({ missing: expect.stringContaining('--admin-api-key') })
    server.fault({ kind: 'spoil', how: 'missing-ids' }, { times: 2 })
    await expect(dialect.probe(connection)).rejects.toThrow(/have no token ids/)
  })
})

describe.each(['whole', 'stream', 'incremental'] as const)('answers: %s', mode => {
  const flags = mode === 'incremental' ? (['incremental-streaming-output'] as const) : []
  const transport = mode === 'whole' ? 'whole' : 'stream'

  test('greedy ids, log-probabilities, alternatives and versions', async () => {
    const { server, facts } = await serve({ flags })
    const params = { temperature: 0, maxNewTokens: 6, topLogprobs: 3, ignoreEos: true }
    const answer = await answered(server, attemptOf(P, { params, transport }), facts)
    expect(answer.ids).toEqual(toyGreedy(P, 6, first))
    close(answer.logprobs, scaled(P, answer.ids, 1, first))
    expect(answer.finish).toEqual({ reason: 'length', stop: undefined })
    expect(answer.versions).toEqual([{ version: 'default', start: 0, end: 6 }])
    expect(answer.top).toHaveLength(6)
    for (const [i, { rank, ids, logprobs }] of answer.top!.entries()) {
      expect([rank, ids[0], ids.length]).toEqual([1, answer.ids[i], 3])
      expect(logprobs[0]).toBeCloseTo(answer.logprobs[i]!, 5)
    }
  })

  test('sampled tokens come with log-probabilities after temperature, before filters', async () => {
    const { server, facts } = await serve({ flags })
    const params = { temperature: 0.7, topP: 0.6, maxNewTokens: 20, topLogprobs: 2, ignoreEos: true }
    const answer = await answered(server, attemptOf(P, { params, transport }), facts)
    close(answer.logprobs, scaled(P, answer.ids, 0.7, first))
    const unlikely = answer.top!.findIndex(({ ids }, i) => !ids.includes(answer.ids[i]!))
    expect(answer.top![unlikely]?.rank).toBe(3)
  })

  test("the prompt's own", async () => {
    const { server, facts } = await serve({ flags })
    const params = { temperature: 0.5, promptLogprobs: 2 }
    const { promptLogprobs } = await answered(server, attemptOf(P, { params, transport }), facts)
    close(promptLogprobs!.logprobs, toyLogprobs(P, first))
    expect(promptLogprobs!.top).toHaveLength(P.length - 1)
    expect(promptLogprobs!.top.every(({ ids }) => ids.length === 2)).toBe(true)
  })

  test('what ends a response', async () => {
    const { server, facts } = await serve({ flags })
    const greedy = toyGreedy(P, 5, first)
    const ask = (params: Partial<SamplingParams>): Promise<GenerationAnswer> =>
      answered(server, attemptOf(P, { params: { temperature: 0, maxNewTokens: 5, ...params }, transport }), facts)
    const byId = await ask({ stopIds: [greedy[2]!] })
    expect(byId).toMatchObject({ ids: greedy.slice(0, 3), finish: { reason: 'stop', stop: greedy[2] } })
    const text = toyText([greedy[3]!])
    expect(await ask({ stop: [text] })).toMatchObject({
      ids: greedy.slice(0, 4),
      finish: { reason: 'stop', stop: text },
    })
    const forbiddenIds = Array.from({ length: 320 }, (_, id) => id).filter(id => id !== toyEosId && id !== 7)
    const ended = await ask({ forbiddenIds: [...forbiddenIds, 7] })
    expect(ended).toMatchObject({ ids: [toyEosId], finish: { reason: 'stop', stop: undefined } })
    const late = await ask({ forbiddenIds, minNewTokens: 3 })
    expect(late.ids.slice(0, 3)).toEqual([7, 7, 7])
  })

  test('held to a form', async () => {
    const { server, facts } = await serve({ flags })
    const params = { structured: { kind: 'regex', pattern: '[a-f]+' }, maxNewTokens: 8 } as const
    const { ids } = await answered(server, attemptOf(P, { params, transport }), facts)
    expect(toyText(ids)).toMatch(/^( [a-f]+)+$/)
  })
})

test('the other forms, seeds, adapters and names are sent as the server knows them', async () => {
  const { server, facts } = await serve({ flags: ['enable-deterministic-inference'] })
  const bodyOf = (attempt: GenerationAttempt): Record<string, unknown> =>
    JSON.parse(dialect.generation(attempt, facts).body) as Record<string, unknown>
  // The server would end a response by its text before the least of tokens: then we look alone.
  const stop = { stop: ['end'], maxNewTokens: 8 }
  expect(bodyOf(attemptOf(P, { params: stop }))).toMatchObject({ sampling_params: { stop: ['end'] } })
  expect(bodyOf(attemptOf(P, { params: { ...stop, minNewTokens: 3 } })).sampling_params).not.toHaveProperty('stop')
  const schema = { type: 'integer' }
  expect(bodyOf(attemptOf(P, { params: { structured: { kind: 'json-schema', schema } } }))).toMatchObject({
    sampling_params: { json_schema: '{"type":"integer"}' },
  })
  expect(bodyOf(attemptOf(P, { params: { structured: { kind: 'ebnf', grammar: 'root ::= "a"' } } }))).toMatchObject({
    sampling_params: { ebnf: 'root ::= "a"' },
  })
  expect(bodyOf(attemptOf(P, { id: 'job', adapter: 'policy@3', seed: 99 }))).toMatchObject({
    input_ids: P,
    rid: 'job',
    lora_path: 'policy@3',
    sampling_params: { sampling_seed: 99 },
  })
  // What is left out would be the model's own default.
  const params = { maxNewTokens: 8, minNewTokens: 2, stopIds: [4] }
  expect(bodyOf(attemptOf(P, { params })).sampling_params).toMatchObject({
    ...{ n: 1, max_new_tokens: 8, min_new_tokens: 2, temperature: 1, top_k: -1, top_p: 1, min_p: 0 },
    ...{ frequency_penalty: 0, presence_penalty: 0, repetition_penalty: 1, ignore_eos: false, stop_token_ids: [4] },
  })
  const twice = [
    await answered(server, attemptOf(P, { seed: 5 }), facts),
    await answered(server, attemptOf(P, { seed: 5 }), facts),
  ]
  expect(twice[0]!.ids).toEqual(twice[1]!.ids)
})

describe('what is no success', () => {
  test('a prompt that does not fit, an adapter it does not know, a value it refuses', async () => {
    const { server, facts } = await serve()
    const refusal = async (attempt: GenerationAttempt): Promise<unknown> => {
      const answer = await send(server, attempt, facts)
      return dialect.refusal(answer.status, await answer.text(), undefined)
    }
    const long = Array.from({ length: 600 }, () => 5)
    for (const ids of [long, long.slice(0, 506), long.slice(0, 511)])
      expect(await refusal(attemptOf(ids))).toMatchObject({ kind: 'prompt-too-long' })
    expect(await refusal(attemptOf(P, { adapter: 'policy@9' }))).toMatchObject({ kind: 'unknown-weights' })
    expect(await refusal(attemptOf(P, { maxNewTokens: -1 }))).toMatchObject({
      kind: 'refused',
      message: 'the server answered 400: max_new_tokens must be at least 0, got -1.',
    })
    const regex = { structured: { kind: 'regex', pattern: '[' } } as const
    expect(await refusal(attemptOf(P, { params: regex }))).toMatchObject({ message: expect.stringContaining('regex') })
  })

  test.each([
    [429, '2', 2000],
    [503, undefined, undefined],
    [500, undefined, undefined],
  ])('%i may do later', (status, header, afterMs) => {
    const text = '{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}'
    const message = `the server answered ${status}: The request queue is full.`
    expect(dialect.refusal(status, text, header)).toEqual({ kind: 'retry', message, afterMs })
  })

  test('in a stream it is an event', async () => {
    const { server, facts } = await serve()
    const attempt = attemptOf(P, { maxNewTokens: -1, transport: 'stream' })
    await expect(answered(server, attempt, facts)).rejects.toThrow(RefusalError)
  })

  test.each(['wrong-json', 'fewer-completions', 'more-completions', 'missing-ids', 'short-logprobs'] as const)(
    'an answer with %s is no answer',
    async how => {
      const { server, facts } = await serve()
      server.fault({ kind: 'spoil', how })
      await expect(answered(server, attemptOf(P), facts)).rejects.toThrow(ProtocolError)
      if (how === 'fewer-completions') return
      server.fault({ kind: 'spoil', how })
      await expect(answered(server, attemptOf(P, { transport: 'stream' }), facts)).rejects.toThrow(ProtocolError)
    },
  )
})

describe('control', () => {
  const running = { params: { temperature: 0, maxNewTokens: 60, ignoreEos: true } }

  test('requests go on over an update, and say which weights made which tokens', async () => {
    const { server, connection, facts } = await serve()
    const { engine } = server
    engine.msPerToken = 1
    engine.holdAt = 40
    const attempt = attemptOf(P, running)
    const answer = answered(server, attempt, facts)
    await until(() => engine.generated > 10)
    await dialect.pause(connection, 'keep')
    await dialect.update(connection, { kind: 'directory', path: writeToyCheckpoint(7), marker: '7' }, facts)
    expect(await dialect.marker(connection, facts)).toBe('7')
    await dialect.resume(connection)
    engine.holdAt = Number.POSITIVE_INFINITY
    const { ids, logprobs, versions } = await answer
    const border = versions![0]!.end
    expect(versions).toEqual([
      { version: 'default', start: 0, end: border },
      { version: '7', start: border, end: 60 },
    ])
    close(logprobs.slice(0, border), scaled(P, ids.slice(0, border), 1, first))
    close(logprobs.slice(border), scaled([...P, ...ids.slice(0, border)], ids.slice(border), 1, toyWeights(7)))
    // And nothing of the old weights is left in the cache.
    const next = await answered(server, attemptOf(P, { params: { temperature: 0 } }), facts)
    expect(next.ids).toEqual(toyGreedy(P, 4, toyWeights(7)))
  })

  test('broken off, and ended by name, requests answer with what they have', async () => {
    const { server, connection, facts } = await serve()
    server.engine.msPerToken = 1
    server.engine.holdAt = 40
    const [one, two] = [attemptOf(P, running), attemptOf([5, 6], running)]
    const answers = [answered(server, one, facts), answered(server, two, facts)]
    await until(() => server.engine.generated > 50)
    await dialect.abort(connection, [one.id, 'nobody'])
    expect(await answers[0]).toMatchObject({ finish: { reason: 'abort' } })
    expect(server.engine.running).toBe(1)
    await dialect.pause(connection, 'break-off')
    const { ids, finish } = await answers[1]!
    expect(finish).toEqual({ reason: 'abort', stop: undefined })
    expect(ids.length).toBeGreaterThan(0)
    expect(ids).toEqual(toyGreedy([5, 6], ids.length, first))
  })

  test('a failed update says the server’s own words, and changes nothing', async () => {
    const { server, connection, facts } = await serve()
    const missing = { kind: 'directory', path: '/nowhere', marker: '8' } as const
    await expect(dialect.update(connection, missing, facts)).rejects.toThrow(
      /loading the weights in \/nowhere: the server answered 400: Failed to get weights iterator/,
    )
    expect(await dialect.marker(connection, facts)).toBe('default')
    expect(server.engine.weights).toEqual(first)
    const body = { success: false, message: 'no room' }
    server.fault({ kind: 'status', status: 200, body }, { on: '/update_weights_from_disk' })
    const good = { kind: 'directory', path: writeToyCheckpoint(8), marker: '8' } as const
    await expect(dialect.update(connection, good, facts)).rejects.toThrow(/no room/)
  })

  test('weights are renamed with requests under way', async () => {
    const { server, connection, facts } = await serve()
    server.engine.msPerToken = 2
    const answer = answered(server, attemptOf(P, running), facts)
    await expect.poll(() => server.engine.generated).toBeGreaterThan(10)
    await dialect.update(connection, { kind: 'name', marker: '3' }, facts)
    const { ids, versions } = await answer
    expect(ids).toHaveLength(60)
    expect(versions!.map(({ version }) => version)).toEqual(['default', '3'])
  })

  test('adapters come, are replaced and go', async () => {
    const { server, connection, facts } = await serve()
    const load = (version: number): Promise<void> =>
      dialect.update(connection, { kind: 'adapter', path: writeToyAdapter(version), name: 'policy@1' }, facts)
    const greedy = async (): Promise<readonly number[]> =>
      (
        await answered(
          server,
          attemptOf(P, { adapter: 'policy@1', params: { temperature: 0, ignoreEos: true } }),
          facts,
        )
      ).ids
    await load(1)
    expect(await greedy()).toEqual(toyGreedy(P, 4, adapted(first, 1)))
    await load(2)
    expect(await greedy()).toEqual(toyGreedy(P, 4, adapted(first, 2)))
    await dialect.unload(connection, 'policy@1')
    expect(server.engine.adapters.size).toBe(0)
    const missing = { kind: 'adapter', path: '/nowhere', name: 'policy@2' } as const
    await expect(dialect.update(connection, missing, facts)).rejects.toThrow(
      /loading the adapter in \/nowhere: .*Repo id/,
    )
  })

  test.each([[[]], [['enable-weights-cpu-backup']]] as const)(
    'asleep and awake with %j the weights are the same',
    async more => {
      const { server, connection, facts } = await serve({ flags: ['enable-memory-saver', ...more] })
      await dialect.sleep(connection)
      const answer = answered(server, attemptOf(P, { params: { temperature: 0 } }), facts)
      await until(() => server.engine.running === 1)
      await dialect.wake(connection)
      expect((await answer).ids).toEqual(toyGreedy(P, 4, first))
    },
  )
})
