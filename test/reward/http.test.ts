import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { redactor } from '../../src/http/index.js'
import {
  type FailedReward,
  grpcReward,
  type HttpRewardOptions,
  httpReward,
  RewardComputationEngine,
  type RewardInput,
  type RewardOutcome,
} from '../../src/reward/index.js'
import { answered } from '../support/answered.js'
import { certificate, certificateKey } from '../support/reward-grpc.js'
import { type Behaviour, freePort, json, rewardServer } from '../support/reward-http.js'
import { sample, samples } from '../support/reward-samples.js'

function engineFor(options: Omit<HttpRewardOptions, 'name'>): RewardComputationEngine {
  const engine = new RewardComputationEngine({ sources: [httpReward({ name: 'rm', ...options })] })
  onTestFinished(() => engine.close())
  return engine
}
const rewardOf = (outcome: RewardOutcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.reward)
const rewards = async (options: Omit<HttpRewardOptions, 'name'>, inputs: readonly RewardInput[]) =>
  (await engineFor(options).compute(inputs)).outcomes.map(rewardOf)

const chat: RewardInput = sample('4', {
  label: 'maths',
  target: '4',
  messages: [{ role: 'user', content: '2+2?' }],
  prompt: '2+2?',
  promptRaw: '<u>2+2?<a>',
  query: '<u>2+2?<a>4<e>',
  sequence: answered(Int32Array.of(1, 2), Int32Array.of(3)),
})

describe('dialects', () => {
  it('lightrft: queries, prompts, labels and references in, rewards out', async () => {
    const server = await rewardServer((response, { body }) =>
      json(response, { rewards: (body.queries as string[]).map(query => query.length) }),
    )
    const inputs = [chat, sample('b')]
    expect(await rewards({ url: `${server.url}/score` }, inputs)).toEqual([14, 4])
    expect(server.asked).toEqual([
      {
        path: '/score',
        headers: expect.objectContaining({ 'content-type': 'application/json' }),
        body: {
          queries: ['<u>2+2?<a>4<e>', 'Q: b'],
          prompts: ['<u>2+2?<a>', 'Q: '],
          labels: ['maths', null],
          references: ['4', null],
        },
      },
    ])
  })

  it('openrlhf: query, prompts and labels in; rewards or scores, and extra_logs, out', async () => {
    const server = await rewardServer((response, _, index) =>
      json(response, index === 0 ? { rewards: [1, 2], extra_logs: { a: [3, 4], b: 5, c: 'text' } } : { scores: 0.5 }),
    )
    const engine = engineFor({ url: server.url, dialect: 'openrlhf' })
    const { outcomes } = await engine.compute([chat, sample('b')])
    expect(outcomes[1]).toMatchObject({ reward: 2, metrics: { a: 4, b: 5 } })
    expect(server.asked[0]).toMatchObject({
      path: '/get_reward',
      body: { query: [chat.query, 'Q: b'], prompts: ['<u>2+2?<a>', 'Q: '], labels: ['maths', null] },
    })
    expect((await engine.compute([chat])).outcomes.map(rewardOf)).toEqual([0.5])
  })

  it('vllm-classify: the raw score, by index, from text, ids or messages', async () => {
    const server = await rewardServer((response, { body }) => {
      const count = Array.isArray(body.input) ? body.input.length : 1
      const data = Array.from({ length: count }, (_, index) => ({
        index,
        probs: [index + 0.5],
        num_classes: 1,
        label: 'x',
      }))
      json(response, { data: data.reverse() })
    })
    const options = { url: server.url, dialect: 'vllm-classify', model: 'rm' } as const
    expect(await rewards(options, [chat, chat])).toEqual([0.5, 1.5])
    expect(await rewards({ ...options, send: 'ids' }, [chat, chat])).toEqual([0.5, 1.5])
    expect(await rewards({ ...options, send: 'messages' }, [chat])).toEqual([0.5])
    expect(server.asked.map(({ path }) => path)).toEqual(['/classify', '/classify', '/classify'])
    expect(server.asked.map(({ body }) => body)).toEqual([
      { model: 'rm', input: [chat.query, chat.query], add_special_tokens: false, use_activation: false },
      {
        model: 'rm',
        input: [
          [1, 2, 3],
          [1, 2, 3],
        ],
        use_activation: false,
      },
      {
        model: 'rm',
        messages: [
          { role: 'user', content: '2+2?' },
          { role: 'assistant', content: '4' },
        ],
        use_activation: false,
      },
    ])
  })

  it('vllm-pooling and vllm-score', async () => {
    const server = await rewardServer((response, { path }) =>
      json(response, { data: [path === '/pooling' ? { index: 0, data: [[0.25]] } : { index: 0, score: 0.75 }] }),
    )
    expect(await rewards({ url: server.url, dialect: 'vllm-pooling', model: 'rm' }, [chat])).toEqual([0.25])
    expect(await rewards({ url: server.url, dialect: 'vllm-score', model: 'rm' }, [chat])).toEqual([0.75])
    expect(server.asked.map(({ body }) => body)).toEqual([
      { model: 'rm', input: [chat.query], add_special_tokens: false, task: 'classify', use_activation: false },
      { model: 'rm', queries: ['2+2?'], documents: ['4'] },
    ])
  })

  it('sglang-classify and sglang-rerank', async () => {
    const server = await rewardServer((response, { path, body }) => {
      if (path === '/v1/rerank') return json(response, [{ score: 0.1, document: '4', index: 0 }])
      const count = ((body.text ?? body.input_ids) as unknown[]).length
      const list = Array.from({ length: count }, (_, i) => ({ embedding: [i - 0.5], meta_info: {} }))
      json(response, count === 1 ? list[0] : list)
    })
    const options = { url: server.url, dialect: 'sglang-classify' } as const
    expect(await rewards(options, [chat, chat])).toEqual([-0.5, 0.5])
    expect(await rewards({ ...options, send: 'ids' }, [chat])).toEqual([-0.5])
    expect(await rewards({ url: server.url, dialect: 'sglang-rerank' }, [chat, chat])).toEqual([0.1, 0.1])
    expect(server.asked.map(({ body }) => body)).toEqual([
      { text: [chat.query, chat.query] },
      { input_ids: [[1, 2, 3]] },
      { query: '2+2?', documents: ['4'] },
      { query: '2+2?', documents: ['4'] },
    ])
  })

  it('sglang-score: how likely a label token comes next', async () => {
    const server = await rewardServer(response => json(response, { scores: [[0.8, 0.2]], object: 'scoring' }))
    const options = { url: server.url, dialect: 'sglang-score', labelTokenIds: [11, 12] } as const
    expect(await rewards(options, [chat])).toEqual([0.8])
    expect(server.asked[0]).toMatchObject({
      path: '/v1/score',
      body: { query: '2+2?', items: ['4'], label_token_ids: [11, 12], apply_softmax: true },
    })
  })

  it.each<[string, Omit<HttpRewardOptions, 'name'>, RegExp]>([
    [
      'an unknown dialect',
      { url: 'http://x', dialect: 'vllm-clasify' as 'vllm-classify' },
      /no dialect "vllm-clasify"; did you mean vllm-classify\?/,
    ],
    [
      'a way to send it does not have',
      { url: 'http://x', dialect: 'sglang-classify', send: 'messages' },
      /takes text or ids, not messages/,
    ],
    ['no label tokens to score', { url: 'http://x', dialect: 'sglang-score' }, /sglang-score needs labelTokenIds/],
    ['label tokens for others', { url: 'http://x', labelTokenIds: [1] }, /no other dialect takes them/],
    ['no server', { url: [] }, /url is an empty list/],
    ['no URL', { url: 'localhost:8000' }, /expected http:\/\/ or https:\/\//],
  ])('%s is refused before the run', (_, options, message) => {
    expect(() => httpReward({ name: 'rm', ...options })).toThrow(message)
  })
})

describe('a server that', () => {
  const quick = { deadlineMs: 20_000, timeoutMs: 15_000 }
  const cases: [string, Behaviour, unknown, RegExp?][] = [
    [
      'answers HTML',
      r => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'protocol',
      /not JSON \(text\/html/,
    ],
    ['answers a truncated JSON', r => void r.writeHead(200).end('{"rewards":[1,'), 'protocol', /not JSON/],
    [
      'answers what is not UTF-8',
      r => void r.writeHead(200).end(Buffer.from([0x22, 0xff, 0xfe, 0x22])),
      'protocol',
      /not UTF-8/,
    ],
    ['answers another object', r => json(r, { reward: 1 }), 'protocol', /neither "rewards" nor "scores"/],
    ['answers null', r => json(r, null), 'protocol'],
    ['answers rewards that are a text', r => json(r, { rewards: 'high' }), 'protocol', /rewards/],
    ['answers too few', r => json(r, { rewards: [1] }), 'wrong-count', /1 rewards for 2 samples/],
    ['answers too many', r => json(r, { rewards: [1, 2, 3] }), 'wrong-count'],
    ['answers one number for two', r => json(r, { rewards: 1 }), 'wrong-count'],
    [
      'redirects',
      r => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      'protocol',
      /redirects are not followed/,
    ],
    ['does not know us', r => json(r, { detail: 'no key' }, 401), 'refused', /answered 401.*no key.*Check the API key/],
    ['has no such path', r => void r.writeHead(404).end(), 'refused', /Check the URL's path/],
    ['does not like the request', r => json(r, { error: 'bad' }, 400), 'refused', /answered 400: {"error":"bad"}/],
    ['hangs up', r => void r.destroy(), 'unreachable'],
    [
      'hangs up in the middle of its answer',
      r => {
        r.writeHead(200, { 'content-length': '100' }).write('{"rewards":')
        setTimeout(() => r.destroy(), 5)
      },
      'unreachable',
    ],
    ['fails', r => json(r, {}, 500), 'server-error', /answered 500.*\(tried 2 times\)/],
    ['is busy', r => json(r, {}, 429), 'overloaded'],
    [
      'is busy for longer than the deadline',
      r => void r.writeHead(429, { 'retry-after': '3600' }).end(),
      'overloaded',
      /answered 429$/,
    ],
  ]
  it.each(cases)('%s', async (_, behave, reason, message = /./) => {
    const server = await rewardServer(behave)
    const engine = engineFor({ url: server.url, ...quick, retries: 1 })
    const { outcomes } = await engine.compute(samples(2))
    expect(outcomes.map(rewardOf)).toEqual([reason, reason])
    expect((outcomes[0] as FailedReward).message).toMatch(message)
  })

  it('gives NaN for a sample fails that sample alone, however it is written', async () => {
    for (const written of ['NaN', 'null', 'Infinity', '-Infinity', '1e999']) {
      const body = `{"note":"NaN in a text","rewards":[1,${written},3]}`
      const server = await rewardServer(response => void response.writeHead(200).end(body))
      expect(await rewards({ url: server.url }, samples(3)), written).toEqual([1, 'non-finite', 3])
    }
    const server = await rewardServer(response => json(response, { rewards: [1, '2', true] }))
    expect(await rewards({ url: server.url }, samples(3))).toEqual([1, 'wrong-type', 'wrong-type'])
  })

  it('has more than one label, or indices twice, is not guessed at', async () => {
    const two = await rewardServer(r => json(r, { data: [{ index: 0, probs: [0.1, 0.9], num_classes: 2 }] }))
    expect(await rewards({ url: two.url, dialect: 'vllm-classify' }, [chat])).toEqual(['protocol'])
    const twice = await rewardServer(r =>
      json(r, {
        data: [
          { index: 0, probs: [1] },
          { index: 0, probs: [2] },
        ],
      }),
    )
    expect(await rewards({ url: twice.url, dialect: 'vllm-classify' }, [chat, chat])).toEqual(['protocol', 'protocol'])
  })

  it('is down at first and comes up later is waited for', async () => {
    const port = await freePort()
    const engine = engineFor({ url: `http://127.0.0.1:${port}` })
    const computing = engine.compute(samples(2))
    await sleep(250)
    await rewardServer(response => json(response, { rewards: [1, 2] }), { port })
    expect((await computing).outcomes.map(rewardOf)).toEqual([1, 2])
    expect(engine.counts.rm!.retries).toBeGreaterThan(0)
  })

  it('stays down is unreachable, and says where', async () => {
    const port = await freePort()
    const engine = engineFor({ url: `http://127.0.0.1:${port}/score`, retries: 1 })
    const [outcome] = (await engine.compute(samples(1))).outcomes
    expect(outcome).toMatchObject({ reason: 'unreachable', source: 'rm' })
    expect((outcome as FailedReward).message).toContain(`http://127.0.0.1:${port}/score: connect ECONNREFUSED`)
  })

  it('accepts and never answers ends within its deadline, and its connection is closed', async () => {
    let closed = 0
    const server = await rewardServer(response => void response.on('close', () => closed++))
    const started = performance.now()
    const engine = engineFor({ url: server.url, deadlineMs: 150, timeoutMs: 5_000 })
    expect((await engine.compute(samples(3))).outcomes.map(rewardOf)).toEqual(['timeout', 'timeout', 'timeout'])
    expect(performance.now() - started).toBeLessThan(4_000)
    await vi.waitFor(() => expect(closed).toBe(1))
  })

  it('hangs in one attempt is asked again within the deadline', async () => {
    const server = await rewardServer((response, _, index) =>
      index === 0 ? undefined : json(response, { rewards: [1] }),
    )
    // The first answer never comes; the second may take its time on a busy machine.
    expect(await rewards({ url: server.url, timeoutMs: 1_000, deadlineMs: 60_000 }, samples(1))).toEqual([1])
    expect(server.asked).toHaveLength(2)
  })

  it('asks to be spared is asked again when it said, not before', async () => {
    const times: number[] = []
    const server = await rewardServer((response, _, index) => {
      times.push(performance.now())
      if (index === 0) response.writeHead(503, { 'retry-after': '0.4' }).end()
      else if (index === 1) response.writeHead(429).end()
      else json(response, { rewards: [1] })
    })
    expect(await rewards({ url: server.url }, samples(1))).toEqual([1])
    expect(times[1]! - times[0]!).toBeGreaterThan(380)
    expect(times[2]! - times[1]!).toBeGreaterThan(180)
  })

  it('is wrong for good is asked once', async () => {
    const server = await rewardServer(response => json(response, {}, 422))
    expect(await rewards({ url: server.url }, samples(1))).toEqual(['refused'])
    expect(server.asked).toHaveLength(1)
  })

  it('sends too much is cut off', async () => {
    const server = await rewardServer(response => void response.writeHead(200).end(' '.repeat(100_000)))
    expect(await rewards({ url: server.url, maxAnswerBytes: 1_000 }, samples(1))).toEqual(['protocol'])
  })

  it('is aborted leaves no request behind', async () => {
    let closed = 0
    const server = await rewardServer(response => void response.on('close', () => closed++))
    const stop = new AbortController()
    const computing = engineFor({ url: server.url }).compute(samples(1), { signal: stop.signal })
    await vi.waitFor(() => expect(server.asked).toHaveLength(1), 10_000)
    stop.abort(new Error('enough'))
    await expect(computing).rejects.toThrow('enough')
    await vi.waitFor(() => expect(closed).toBe(1), 10_000)
  })
})

it('a sample that lacks what is sent fails alone', async () => {
  const server = await rewardServer((response, { body }) =>
    json(
      response,
      (body.input_ids as number[][]).map(ids => ({ embedding: [ids.length] })),
    ),
  )
  const options = { url: server.url, dialect: 'sglang-classify', send: 'ids' } as const
  expect(await rewards(options, [chat, sample('no ids'), chat])).toEqual([3, 'input', 3])
})

describe('many requests', () => {
  const answer: Behaviour = (response, { body }) =>
    json(response, { rewards: (body.queries as string[]).map(query => Number(query.slice(3))) })

  it('go out in batches, so many at a time, and come back in order', async () => {
    let running = 0
    let most = 0
    const server = await rewardServer(async (response, asked, index) => {
      most = Math.max(most, ++running)
      await sleep(index % 2 === 0 ? 30 : 5)
      running--
      await answer(response, asked, index)
    })
    const engine = engineFor({ url: server.url, batchSize: 5, concurrency: 3 })
    const { outcomes } = await engine.compute(samples(48))
    expect(outcomes.map(rewardOf)).toEqual(samples(48).map((_, i) => i))
    expect(server.asked.map(({ body }) => (body.queries as unknown[]).length)).toEqual([...new Array(9).fill(5), 3])
    expect(most).toBe(3)
  })

  it('fail over to the replicas that answer', async () => {
    const port = await freePort()
    const broken = await rewardServer(response => json(response, {}, 500))
    const good = await rewardServer(answer)
    const engine = engineFor({ url: [`http://127.0.0.1:${port}`, broken.url, good.url], batchSize: 2 })
    const { outcomes } = await engine.compute(samples(40))
    expect(outcomes.map(rewardOf)).toEqual(samples(40).map((_, i) => i))
    expect(broken.asked.length).toBeLessThan(15)
  })

  it('a replica that answers nonsense, or hangs, costs no sample', async () => {
    const nonsense = await rewardServer(response => json(response, { rewards: [] }))
    const hung = await rewardServer(() => {})
    const good = await rewardServer(answer)
    const engine = engineFor({ url: [nonsense.url, hung.url, good.url], batchSize: 2, timeoutMs: 400 })
    const { outcomes } = await engine.compute(samples(12))
    expect(outcomes.map(rewardOf)).toEqual(samples(12).map((_, i) => i))
  })

  it('go to a slow replica less often', async () => {
    const slow = await rewardServer(async (response, asked, index) => {
      await sleep(250)
      await answer(response, asked, index)
    })
    const fast = await rewardServer(async (response, asked, index) => {
      await sleep(5)
      await answer(response, asked, index)
    })
    const engine = engineFor({ url: [slow.url, fast.url], batchSize: 1, concurrency: 4 })
    await engine.compute(samples(60))
    expect(slow.asked.length).toBeLessThan(fast.asked.length / 2)
  })
})

it('over TLS a server is trusted by its authority, and by nothing less', async () => {
  const server = createServer({ cert: certificate, key: certificateKey }, (_, response) =>
    json(response, { rewards: [1] }),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  expect(await rewards({ url, tls: { ca: certificate } }, samples(1))).toEqual([1])
  const engine = engineFor({ url })
  const [outcome] = (await engine.compute(samples(1))).outcomes
  expect(outcome).toMatchObject({ reason: 'unreachable', message: expect.stringMatching(/tls\.ca/) })
  expect(engine.counts.rm!.calls).toBe(1)
})

const pem = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

it.each([
  ['loopback', {}, /the server's certificate is self-signed.*Give that certificate as tls\.ca/],
  ['expired', { ca: pem('expired-cert') }, /the server's certificate has expired.*Renew it on the server/],
  ['other-host', { ca: pem('other-host-cert') }, /the server's certificate is for another host name.*host name of the/],
])('a TLS failure says what is wrong and what to do: %s', async (name, tls, message) => {
  const server = createServer({ cert: pem(`${name}-cert`), key: pem(`${name}-key`) }, (_, response) =>
    json(response, { rewards: [1] }),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const engine = engineFor({ url: `https://localhost:${(server.address() as AddressInfo).port}`, tls })
  const [outcome] = (await engine.compute(samples(1))).outcomes
  expect(outcome).toMatchObject({ reason: 'unreachable', message: expect.stringMatching(message) })
  expect(engine.counts.rm!.calls).toBe(1)
})

it('TLS to a server that does not speak it says so', async () => {
  const server = await rewardServer((response, _) => json(response, { rewards: [1] }))
  const engine = engineFor({ url: server.url.replace('http:', 'https:') })
  const [outcome] = (await engine.compute(samples(1))).outcomes
  expect(outcome).toMatchObject({ message: expect.stringMatching(/does not speak TLS on this port.*Use http:/) })
})

it('a timeout names the option that ended it', async () => {
  const hung = await rewardServer(() => {})
  const message = async (options: object): Promise<string> => {
    const [outcome] = (await engineFor({ url: hung.url, ...options }).compute(samples(1))).outcomes
    return (outcome as { message: string }).message
  }
  const one = await message({ timeoutMs: 50, deadlineMs: 60_000, retries: 0 })
  expect(one).toMatch(/no answer within 0\.05 s \(timeoutMs\)\. Raise timeoutMs/)
  expect(one).not.toContain('deadlineMs')
  const all = await message({ timeoutMs: 60_000, deadlineMs: 50, retries: 0 })
  expect(all).toMatch(/no answer within 0\.05 s \(deadlineMs\)\. Raise deadlineMs/)
})

describe('secrets', () => {
  it('reach the server and nothing else', async () => {
    const echo: Behaviour = (response, { headers, path }) => json(response, { error: { headers, path } }, 500)
    const server = await rewardServer(echo)
    const [host] = server.url.replace('http://', '').split('/')
    const hidden = ['sk-very-secret-key', 'pass:word', 'token-in-query', 'custom-secret']
    const attempts: Omit<HttpRewardOptions, 'name'>[] = [
      { url: server.url, apiKey: hidden[0]! },
      { url: `http://user:${encodeURIComponent(hidden[1]!)}@${host}/score?token=${hidden[2]}` },
      { url: server.url, headers: { 'x-api-key': hidden[3]! } },
    ]
    for (const options of attempts) {
      const { outcomes } = await engineFor({ ...options, retries: 0 }).compute(samples(1))
      const shown = JSON.stringify(outcomes)
      expect(shown).toContain('answered 500')
      expect(shown).toContain('[hidden]')
      for (const secret of hidden) expect(shown).not.toContain(secret)
      expect(shown).not.toContain(Buffer.from(`user:${hidden[1]}`).toString('base64'))
    }
    expect(server.asked[0]!.headers.authorization).toBe(`Bearer ${hidden[0]}`)
    expect(server.asked[1]!.headers.authorization).toBe(`Basic ${Buffer.from(`user:${hidden[1]}`).toString('base64')}`)
    expect(server.asked[1]!.path).toBe(`/score?token=${hidden[2]}`)
    expect(server.asked[2]!.headers['x-api-key']).toBe(hidden[3])
  })

  it('are not in what a refused URL or key says', () => {
    for (const apiKey of ['secret\n', 'sec ret', ''])
      for (const make of [httpReward, grpcReward])
        expect(() => make({ name: 'rm', url: make === httpReward ? 'http://x' : 'grpc://x/m', apiKey })).toThrow(
          /^(?!.*sec)reward "rm": the API key/,
        )
    expect(() => httpReward({ name: 'rm', url: 'htp://user:secret@host' })).toThrow(/^(?!.*secret)/)
  })

  it('are hidden however a server writes them back', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 4 }), fc.string(), fc.string(), (secret, before, after) => {
        const shown = redactor([secret])(before + secret + after)
        const written = redactor([secret])(JSON.stringify({ key: secret }))
        expect(shown.split('[hidden]').join('').includes(secret) && !(before + after).includes(secret)).toBe(false)
        expect(written).toBe('{"key":"[hidden]"}')
      }),
    )
  })

  it("a sample's text is in no message", async () => {
    const server = await rewardServer(response => json(response, {}, 503))
    const { outcomes } = await engineFor({ url: server.url, retries: 0 }).compute([sample('PRIVATE TEXT')])
    expect(JSON.stringify(outcomes)).not.toContain('PRIVATE')
  })
})
