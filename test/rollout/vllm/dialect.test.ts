/** vLLM's words: what a server is asked, how its answers and refusals are read, what is found out about it. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { connectVllm, type EngineEvent, type RemoteOptions, type SamplingParams } from '../../../src/rollout/index.js'
import type { GenerationAttempt, ServerFacts } from '../../../src/rollout/remote/dialect.js'
import { resolveSampling } from '../../../src/rollout/sampling.js'
import { vllmDialect } from '../../../src/rollout/vllm/dialect.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { toyVocabSize } from '../../support/doubles/toy-model.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'

const dialect = vllmDialect()
const factsOf = (route: 'tokens' | 'completions'): ServerFacts =>
  ({ model: 'tiny', route, namesWeights: true }) as unknown as ServerFacts

function attemptOf(sampling: Partial<SamplingParams> = {}, given: Partial<GenerationAttempt> = {}): GenerationAttempt {
  const resolved = resolveSampling(
    { seed: 1, maxNewTokens: 6, ...sampling },
    { vocabSize: 2000, n: 1, structured: ['regex', 'json-schema', 'ebnf'] },
  )
  return {
    id: 'whetstone-1',
    ids: Int32Array.of(58, 1855, 418),
    idsJson: '[58,1855,418]',
    maxNewTokens: 6,
    minNewTokens: resolved.minNewTokens,
    temperature: resolved.temperature,
    seed: 77,
    sampling: resolved,
    adapter: undefined,
    promptLogprobs: undefined,
    transport: 'whole',
    ...given,
  }
}

describe('requests', () => {
  const bodyOf = (route: 'tokens' | 'completions', attempt: GenerationAttempt) =>
    JSON.parse(dialect.generation(attempt, factsOf(route)).body)

  test('every parameter is sent: what is left out would be the model’s own default', () => {
    const explicit = {
      n: 1,
      max_tokens: 6,
      min_tokens: 0,
      temperature: 1,
      top_p: 1,
      min_p: 0,
      seed: 77,
      stop: [],
      stop_token_ids: [],
      ignore_eos: false,
      presence_penalty: 0,
      frequency_penalty: 0,
      repetition_penalty: 1,
    }
    const tokens = bodyOf('tokens', attemptOf())
    expect(tokens).toMatchObject({ model: 'tiny', request_id: 'whetstone-1', token_ids: [58, 1855, 418] })
    expect(tokens.sampling_params).toMatchObject(explicit)
    expect([0, -1]).toContain(tokens.sampling_params.top_k)
    const plain = bodyOf('completions', attemptOf())
    expect(plain).toMatchObject({ ...explicit, model: 'tiny', prompt: [58, 1855, 418], return_token_ids: true })
  })

  test('forms, forbidden ids, adapters, streams', () => {
    const schema = { type: 'object' }
    const forms = [
      [{ kind: 'regex', pattern: 'a+' } as const, { regex: 'a+' }],
      [{ kind: 'json-schema', schema } as const, { json: schema }],
      [{ kind: 'ebnf', grammar: 'root ::= "a"' } as const, { grammar: 'root ::= "a"' }],
    ] as const
    for (const [structured, expected] of forms) {
      const tokens = bodyOf('tokens', attemptOf({ structured }))
      expect(tokens.sampling_params.structured_outputs).toEqual(expected)
      expect(bodyOf('completions', attemptOf({ structured })).structured_outputs).toEqual(expected)
    }
    // More than four are refused by newer servers; the others are found in the text that is made here.
    const stop = ['a', 'b', 'c', 'd', 'e', 'f']
    expect(bodyOf('tokens', attemptOf({ stop })).sampling_params.stop).toEqual(stop.slice(0, 4))
    const attempt = attemptOf({ forbiddenIds: [5, 9] }, { adapter: 'policy@3', transport: 'stream' })
    expect(bodyOf('tokens', attempt)).toMatchObject({
      model: 'policy@3',
      stream: true,
      sampling_params: { logit_bias: { 5: -100, 9: -100 } },
    })
  })
})

describe('refusals', () => {
  const error = (message: string): string => JSON.stringify({ error: { message, type: 'x', param: null, code: 400 } })

  test.each([
    "This model's maximum context length is 256 tokens. However, your prompt contains 300 input tokens, please reduce",
    'max_tokens must be at least 1, got 0. ',
    'The decoder prompt (length 300) is longer than the maximum model length of 256.',
  ])('a prompt that does not fit is the sample’s own end: %s', message => {
    expect(dialect.refusal(400, error(message), undefined)).toMatchObject({ kind: 'prompt-too-long' })
  })

  test('what may do later, what never does, and what was forgotten', () => {
    expect(dialect.refusal(503, '', '2')).toEqual({
      kind: 'retry',
      message: 'the server answered 503',
      afterMs: 2000,
    })
    for (const status of [408, 429, 500, 502, 504])
      expect(dialect.refusal(status, error('busy'), undefined)).toMatchObject({ kind: 'retry', afterMs: undefined })
    expect(dialect.refusal(400, error('stop cannot be empty'), undefined)).toEqual({
      kind: 'refused',
      message: 'the server answered 400: stop cannot be empty',
    })
    expect(dialect.refusal(401, '{"error":"Unauthorized"}', undefined)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('Check the API key'),
    })
    const gone = error('The model `policy@3-aa` does not exist.')
    expect(dialect.refusal(404, gone, undefined)).toMatchObject({ kind: 'unknown-weights' })
    expect(dialect.refusal(404, error('The model `x` does not exist.'), undefined)).toMatchObject({ kind: 'refused' })
  })
})

describe('answers', () => {
  const completion = {
    index: 0,
    text: 'annaim',
    logprobs: {
      text_offset: [0, 4],
      token_logprobs: [-6.4, -6.5],
      tokens: ['token_id:1397', 'token_id:346'],
      top_logprobs: [
        { 'token_id:1397': -6.4, 'token_id:902': -4.4 },
        { 'token_id:346': -6.5, 'token_id:7': -7 },
      ],
    },
    finish_reason: 'stop',
    stop_reason: 928,
    token_ids: [1397, 346],
  }

  test('of completions: ids, log-probabilities, alternatives by likelihood', () => {
    const read = dialect.answer({ choices: [completion] }, attemptOf({ topLogprobs: 1 }), factsOf('completions'))
    expect(read).toMatchObject({ ids: [1397, 346], logprobs: [-6.4, -6.5], finish: { reason: 'stop', stop: 928 } })
    expect(read.top!.map(({ rank, ids }) => [rank, ...ids])).toEqual([
      [2, 902],
      [1, 346],
    ])
  })

  test('of tokens: also which weights made them; quickly read, the same', () => {
    const content = [
      { token_id: 5, logprob: -1, rank: 3, top_logprobs: [{ token_id: 9, logprob: -0.5, rank: 1 }] },
      { token_id: 6, logprob: -2, rank: 1, top_logprobs: [{ token_id: 6, logprob: -2, rank: 1 }] },
    ]
    const weights = [{ version: '7-ab', start: 0, end: 2 }]
    const body = {
      choices: [
        {
          index: 0,
          finish_reason: 'length',
          stop_reason: null,
          token_ids: [5, 6],
          weight_versions: weights,
          logprobs: { content },
        },
      ],
      prompt_logprobs: null,
    }
    const facts = factsOf('tokens')
    const read = dialect.answer(body, attemptOf(), facts)
    expect(read).toMatchObject({ ids: [5, 6], logprobs: [-1, -2], versions: weights, finish: { reason: 'length' } })
    expect(dialect.quickAnswer!(JSON.stringify(body), attemptOf(), facts)).toEqual(read)
    const top = dialect.answer(body, attemptOf({ topLogprobs: 1 }), facts).top!
    expect(top.map(({ rank, ids }) => [rank, ...ids])).toEqual([
      [3, 9],
      [1, 6],
    ])
    expect(dialect.quickAnswer!(JSON.stringify(body), attemptOf({ topLogprobs: 1 }), facts)).toBeUndefined()
  })

  test('the prompt’s log-probabilities', () => {
    const prompt_logprobs = [
      null,
      { 1855: { logprob: -8.2, rank: 883, decoded_token: 'ony' }, 82: { logprob: -2.4, rank: 1, decoded_token: 'x' } },
      { 418: { logprob: -1, rank: 1, decoded_token: 'y' } },
    ]
    const attempt = attemptOf({ promptLogprobs: 1 }, { promptLogprobs: 1 })
    const { promptLogprobs } = dialect.answer(
      { choices: [{ ...completion, prompt_logprobs }] },
      attempt,
      factsOf('completions'),
    )
    expect([...promptLogprobs!.logprobs]).toEqual([Math.fround(-8.2), -1])
    expect(promptLogprobs!.top.map(({ rank, ids }) => [rank, ...ids])).toEqual([
      [883, 82],
      [1, 418],
    ])
  })

  test('events: what each adds, the end, and errors in the middle', () => {
    const read = dialect.reader(attemptOf(), factsOf('completions'))
    const event = (choice: object): string => JSON.stringify({ choices: [choice] })
    expect(read(event({ ...completion, finish_reason: null }))).toMatchObject({ ids: [1397, 346], finish: undefined })
    expect(read(JSON.stringify({ choices: [], usage: {} }))).toBeUndefined()
    expect(read('[DONE]')).toBeUndefined()
    expect(() => read('{"error":{"message":"it broke","code":500}}')).toThrow('it broke')
    expect(() => read('{"cho')).toThrow('not JSON')
  })
})

describe('what is found out', () => {
  const started: EngineServer[] = []
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop()
  })
  const serve = async (options: ConstructorParameters<typeof VllmServer>[0] = {}): Promise<EngineServer> => {
    const server = await new VllmServer(options).start()
    started.push(server)
    return server
  }
  const connect = (server: EngineServer, options: Partial<RemoteOptions> = {}) =>
    connectVllm({ urls: [server.url], vocabSize: toyVocabSize, patienceMs: 1000, ...options })

  test.each(['raw', 'processed'] as const)('%s log-probabilities, on either route', async logprobs => {
    for (const without of [[], ['scale-out']] as const) {
      const generator = await connect(await serve({ logprobs, without }))
      expect(generator.capabilities).toMatchObject({
        logprobs: [logprobs],
        structured: ['regex', 'json-schema', 'ebnf'],
      })
      await generator.close()
    }
  })

  test('a model that is not served, by the names of those that are', async () => {
    const server = await serve()
    await expect(connect(server, { model: 'nope' })).rejects.toThrow(
      `${server.url}: the server has no model nope; it has tiny`,
    )
  })

  test('a server that gives no token ids: the version that does', async () => {
    const server = await serve({ version: '0.9.2', without: ['scale-out'] })
    server.fault({ kind: 'spoil', how: 'missing-ids' }, { on: '/v1/completions' })
    await expect(connect(server)).rejects.toThrow(/vLLM 0\.10\.2 or later is needed/)
  })

  test('older versions cannot hold responses to a form', async () => {
    const generator = await connect(await serve({ version: '0.10.2' }))
    expect(generator.capabilities.structured).toEqual([])
    const structured = { kind: 'regex', pattern: 'a+' } as const
    const request = { id: 'a', promptIds: Int32Array.of(5), sampling: { seed: 1, maxNewTokens: 4, structured } }
    await expect(generator.generate([request]).next()).rejects.toThrow(
      'structured: regex needs vLLM 0.11 or later; the server is 0.10.2',
    )
    await generator.close()
  })

  test('a wrong key: the server’s answer, and never the key', async () => {
    const server = await serve({ apiKey: 'the-right-one' })
    const wrong = connect(server, { apiKey: 'sk-wrong-secret' })
    await expect(wrong).rejects.toThrow(/answered 401: Unauthorized\. The server does not accept the API key\.$/)
    await expect(wrong).rejects.toMatchObject({ remedy: expect.stringContaining('generator.apiKeyEnv') })
    await expect(connect(server)).rejects.toThrow(/answered 401: Unauthorized\. No API key was sent\.$/)
    await expect(wrong).rejects.not.toThrow(/sk-wrong-secret/)
    await (await connect(server, { apiKey: 'the-right-one' })).close()
  })

  test('servers whose log-probabilities mean different things are not one engine', async () => {
    const servers = [await serve({ logprobs: 'raw' }), await serve({ logprobs: 'processed' })]
    await expect(connect(servers[0]!, { urls: servers.map(({ url }) => url) })).rejects.toThrow(
      /gives raw log-probabilities, .* processed: start all servers with the same options/,
    )
  })

  test('one that was left asleep and paused is woken and let go', async () => {
    const server = await serve()
    server.engine.setAsleep(true)
    server.engine.pause('keep')
    const generator = await connect(server)
    expect([server.engine.asleep, server.engine.paused]).toEqual([false, false])
    await generator.close()
  })

  test('of several, one that is not there yet joins when it is', async () => {
    const [here, late] = [await serve(), await serve()]
    await late.stop()
    const events: EngineEvent[] = []
    const generator = await connect(here, {
      urls: [here.url, late.url],
      patienceMs: 20_000,
      onEvent: event => events.push(event),
    })
    await late.start()
    await expect.poll(() => late.count('/v1/models'), { timeout: 10_000 }).toBeGreaterThan(0)
    await generator.close()
  })
})

test('a stop ends the wait for the first server, also for one that takes a connection and says nothing', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  for (const url of ['http://127.0.0.1:9', `http://127.0.0.1:${port}`]) {
    const stop = new AbortController()
    const reason = new Error('Ctrl-C')
    setTimeout(() => stop.abort(reason), 200)
    await expect(connectVllm({ urls: [url], vocabSize: toyVocabSize, signal: stop.signal })).rejects.toBe(reason)
  }
  silent.close()
})

test('options that mean nothing are refused, and secrets in addresses never shown', async () => {
  const given = { urls: ['http://user:hunter2@127.0.0.1:9'], vocabSize: 10, patienceMs: 1 }
  const refused = async (options: Partial<RemoteOptions>, expected: RegExp): Promise<void> => {
    const connecting = connectVllm({ ...given, ...options })
    await expect(connecting).rejects.toThrow(expected)
    await expect(connecting).rejects.not.toThrow(/hunter2/)
  }
  await refused({}, /no server can be reached \(http:\/\/127\.0\.0\.1:9: /)
  await refused({ urls: [] }, /at least one server/)
  await refused({ urls: ['ftp://user:hunter2@host'] }, /expected http:\/\//)
  await refused({ urls: [given.urls[0]!, given.urls[0]!] }, /listed twice/)
  await refused({ apiKey: 'two words' }, /an HTTP header cannot hold/)
  await refused({ maxInFlight: 0 }, /maxInFlight should be a positive integer/)
  await refused({ requestTimeoutMs: 2 ** 31 }, /below 2\^31/)
})
