import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { EncodeQueue } from '../../src/serve/encode-queue.js'
import { ModelServer, type ServeOptions } from '../../src/serve/index.js'
import { JsonScan } from '../../src/serve/read-body.js'
import { requestCost } from '../../src/serve/request-cost.js'
import { makeWorld, post, send, until, type World } from '../support/serve.js'
import { LogprobGenerator, type Script } from './logprob-generator.js'

let world: World
let port: number
const servers: ModelServer[] = []
const sockets: Socket[] = []
beforeAll(async () => {
  world = await makeWorld()
  port = (await world.serve()).port
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(async () => {
  for (const server of servers) await server.close({ graceMs: 0 })
  await world.close()
})

const scripted = async (script: Script, options: Partial<ServeOptions> = {}): Promise<number> => {
  const engine = new LogprobGenerator(script)
  const server = await ModelServer.start({ engine, tokenizer: undefined, name: 'tiny', port: 0, ...options })
  servers.push(server)
  return server.port
}
/** A gate: tokens wait until it is opened. */
function gate(): { beforeToken: () => Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { beforeToken: () => opened, open }
}
const metric = async (at: number, name: string): Promise<number> =>
  Number(new RegExp(`^whetstone_${name} (.*)$`, 'm').exec((await send(at, '/metrics')).text)?.[1])
const raw = (at: number, text: string): Socket => {
  const socket = connect(at, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(text)
  sockets.push(socket)
  return socket
}
const posting = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
const prompts = (count: number, length: number): number[][] =>
  Array.from({ length: count }, () => Array.from({ length }, (_, i) => i % 200))

describe('the cost of a request', () => {
  test('is never less than its answer', async () => {
    const prompt = [5, 6, 7, 8, 9, 10, 11, 12]
    for (const fields of [
      { n: 4, max_tokens: 30, ignore_eos: true },
      { n: 2, max_tokens: 20, logprobs: 20, ignore_eos: true, return_token_ids: true },
      { max_tokens: 1, prompt_logprobs: 20 },
      { n: 3, max_tokens: 1, prompt_logprobs: 0 },
      { max_tokens: 10, echo: true, logprobs: 5, ignore_eos: true },
    ]) {
      const { status, text } = await send(port, '/v1/completions', { prompt, ...fields })
      expect(status).toBe(200)
      const { n = 1, max_tokens: maxTokens, logprobs, prompt_logprobs, echo } = fields as Record<string, number>
      const promptLogprobs = echo ? logprobs : prompt_logprobs
      const { bytes } = requestCost({ promptLengths: [8], n, maxLength: 256, maxTokens, logprobs, promptLogprobs })
      expect(bytes).toBeGreaterThan(text.length)
    }
  })

  test('counts prompts, choices, positions and alternatives', () => {
    const base = { promptLengths: [100, 50], n: 2, maxLength: 256, maxTokens: 200 }
    expect(requestCost({ ...base, logprobs: undefined, promptLogprobs: undefined })).toMatchObject({
      samples: 4,
      positions: 0,
      logprobs: 0,
    })
    // 156 and 200 tokens are left beside the prompts.
    expect(requestCost({ ...base, logprobs: 4, promptLogprobs: 0 })).toMatchObject({
      positions: 2 * (156 + 200 + 150),
      logprobs: 2 * (5 * (156 + 200) + 150),
    })
  })

  test('over the bound of a request nothing is started, and the numbers are said', async () => {
    const engine = new LogprobGenerator({ maxLength: 2048 })
    const server = await ModelServer.start({ engine, tokenizer: undefined, name: 'tiny', port: 0 })
    servers.push(server)
    const body = { prompt: prompts(256, 1500), max_tokens: 1, prompt_logprobs: 20 }
    const answer = await post(server.port, '/v1/completions', body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toMatch(/may take \d+\.\d MiB .*384000 tokens, 8064000 .*the limit is 256\.0 MiB/)
    expect(engine.counts.generatedTokens).toBe(0)
    expect(await metric(server.port, 'http_requests_bytes')).toBe(0)
  })

  test('what does not fit beside others comes back later, and everything is given back', async () => {
    const { beforeToken, open } = gate()
    const at = await scripted({ beforeToken, maxLength: 2048 }, { maxTotalBytes: 10 << 20 })
    const body = { prompt: prompts(1, 1500), max_tokens: 10, logprobs: 5, prompt_logprobs: 20 }
    const first = [1, 2, 3].map(() => post(at, '/v1/completions', body))
    for (const enough = 9e6; (await metric(at, 'http_requests_bytes')) < enough; );
    const refused = await send(at, '/v1/completions', body)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.text).toMatch(/of 10\.0 MiB are taken by others/)
    open()
    for (const { status } of await Promise.all(first)) expect(status).toBe(200)
    for (let tries = 0; (await metric(at, 'http_requests_bytes')) > 0 && tries < 100; tries++);
    expect(await metric(at, 'http_requests_bytes')).toBe(0)
  })

  test('n counts as n', async () => {
    const { beforeToken, open } = gate()
    const at = await scripted({ beforeToken }, { maxSamples: 8 })
    const ask = (n: number, stream = false) => send(at, '/v1/completions', { prompt: [5], max_tokens: 2, n, stream })
    const running = ask(6)
    for (; !((await metric(at, 'http_requests_bytes')) > 0); );
    expect((await ask(3)).text).toMatch(/6 choices are being generated; with 3 more, 8 is the limit/)
    expect((await ask(3, true)).status).toBe(429)
    expect((await ask(9)).status).toBe(400)
    const small = ask(2)
    open()
    expect((await running).status).toBe(200)
    expect((await small).status).toBe(200)
  })
})

describe('large answers', () => {
  test('are made as the client takes them, and leave others their turn', async () => {
    let looked = 0
    const count = 16
    const length = 1500
    const generator = new LogprobGenerator({ maxLength: 2048 })
    const original = generator.generate.bind(generator)
    generator.generate = async function* (requests, options) {
      for await (const outcome of original(requests, options)) {
        if (outcome.kind === 'completed' && outcome.promptLogprobs) {
          const { top, logprobs } = outcome.promptLogprobs
          const counted = new Proxy(top, {
            get: (list, key) => {
              if (typeof key === 'string' && /^\d+$/.test(key)) looked++
              return Reflect.get(list, key)
            },
          })
          yield { ...outcome, promptLogprobs: { top: counted, logprobs } }
        } else yield outcome
      }
      return undefined
    }
    const server = await ModelServer.start({ engine: generator, tokenizer: undefined, name: 'tiny', port: 0 })
    servers.push(server)
    const body = JSON.stringify({ prompt: prompts(count, length), max_tokens: 1, prompt_logprobs: 20 })
    const taken = { bytes: 0, ended: false }
    const sent = request({
      host: '127.0.0.1',
      port: server.port,
      path: '/v1/completions',
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json' },
    })
    sent.end(body)
    const response = await new Promise<import('node:http').IncomingMessage>(resolve => sent.on('response', resolve))
    response.pause()
    // Until the buffers between the two are full.
    for (let before = -1; before !== looked; await new Promise(resolve => setTimeout(resolve, 200))) before = looked
    expect(looked).toBeGreaterThan(0)
    expect(looked).toBeLessThan((count * length) / 2)
    let answered = 0
    response.on('data', part => (taken.bytes += part.length))
    response.on('end', () => {
      taken.ended = true
    })
    response.resume()
    while (!taken.ended) {
      expect((await send(server.port, '/health')).status).toBe(200)
      if (!taken.ended) answered++
    }
    expect(answered).toBeGreaterThan(3)
    expect(taken.bytes).toBeGreaterThan(count * length * 20 * 40)
  })

  test('are valid JSON of the same shape as small ones', async () => {
    const at = await scripted({ maxLength: 2048 })
    const { status, body } = await post(at, '/v1/completions', {
      prompt: prompts(3, 900),
      max_tokens: 3,
      prompt_logprobs: 2,
      logprobs: 1,
    })
    expect(status).toBe(200)
    expect(body.choices).toHaveLength(3)
    for (const { prompt_logprobs, logprobs } of body.choices) {
      expect(prompt_logprobs).toHaveLength(900)
      expect(prompt_logprobs[0]).toBeNull()
      expect(prompt_logprobs[899][199 % 200] ?? prompt_logprobs[899][99]).toBeDefined()
      expect(logprobs.tokens).toEqual(['token_id:0', 'token_id:1', 'token_id:2'])
    }
    expect(body.usage).toEqual({ prompt_tokens: 2700, total_tokens: 2709, completion_tokens: 9 })
  })

  const slowStream = async (options: Partial<ServeOptions>): Promise<{ at: number; socket: Socket }> => {
    const at = await scripted({ maxLength: 20_000 }, options)
    const body = JSON.stringify({ prompt: [5], max_tokens: 15_000, stream: true, logprobs: 20 })
    const socket = raw(at, posting('/v1/completions', body.length) + body)
    socket.pause()
    return { at, socket }
  }

  test('a slow reader of a stream has its tokens put together', async () => {
    const { at, socket } = await slowStream({})
    for (; (await metric(at, 'generated_tokens_total')) < 15_000; );
    let text = ''
    socket.on('data', part => (text += part))
    socket.resume()
    await until(() => text.includes('[DONE]'), 30_000)
    const events = text.match(/"finish_reason"/g)!.length
    expect(events).toBeLessThan(14_000)
    const ids = [...text.matchAll(/"tokens":\[([^\]]*)\]/g)].flatMap(match => match[1]!.split(','))
    expect(ids).toHaveLength(15_000)
  })

  test('a reader that takes nothing is let go, and what it held is free', async () => {
    const { at, socket } = await slowStream({ stallMs: 300 })
    let closed = false
    socket.on('close', () => {
      closed = true
    })
    for (; (await metric(at, 'http_requests_bytes')) > 0 || (await metric(at, 'generated_tokens_total')) === 0; );
    socket.resume()
    await until(() => closed)
  })
})

describe('text', () => {
  test('that cannot fit is refused without being encoded', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(340_000)
    const started = performance.now()
    const { status, body } = await post(port, '/v1/completions', { prompt: text, max_tokens: 1 })
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ param: 'input_tokens', message: expect.stringContaining('at least 257') })
    const once = performance.now()
    await world.opened.tokenizer!.encode(text.slice(0, text.length / 40))
    // Reading and looking at the body took less than encoding a fortieth of it would, many times over.
    expect(once - started).toBeLessThan(20 * (performance.now() - once))
    for (const fields of [{ truncate_prompt_tokens: 5 }, { echo: true }])
      expect((await post(port, '/v1/completions', { prompt: text.slice(0, 1e6), ...fields })).status).toBe(400)
    expect((await post(port, '/tokenize', { prompt: text.slice(0, 1e6) })).status).toBe(400)
    expect((await post(port, '/v1/chat/completions', { messages: [{ role: 'user', content: text }] })).status).toBe(400)
    expect((await post(port, '/detokenize', { tokens: Array(1e5).fill(5) })).status).toBe(400)
  })

  test('messages are counted before they are rendered', async () => {
    const messages = (length: number) => Array.from({ length }, () => ({ role: 'user', content: 'x' }))
    const many = await post(port, '/v1/chat/completions', { messages: messages(300_000) })
    expect(many.status).toBe(400)
    expect(many.body.error.message).toContain('more than 200000 objects and lists')
    const some = await post(port, '/v1/chat/completions', { messages: messages(300) })
    expect(some.body.error.message).toBe('a conversation may have 256 messages, this one has 300.')
    expect((await post(port, '/tokenize', { messages: messages(300) })).status).toBe(400)
  })

  test('is encoded two at a time, the short ones at once, and not for those who left', async () => {
    const running = new Set<string>()
    const asked: string[] = []
    const ends = new Map<string, () => void>()
    const queue = new EncodeQueue({
      encodeUpTo: async text => {
        asked.push(text[0]!)
        running.add(text[0]!)
        await new Promise<void>(resolve => ends.set(text[0]!, resolve))
        running.delete(text[0]!)
        return { kind: 'too-long', atLeast: 1 }
      },
    })
    const long = (name: string) => name.repeat(5000)
    const gone = new AbortController()
    const options = { maxTokens: 10 }
    const all = ['a', 'b', 'c'].map(name => queue.encode(long(name), options))
    const left = queue.encode(long('d'), { ...options, signal: gone.signal })
    const last = queue.encode(long('e'), options)
    const short = queue.encode('s', options)
    await until(() => running.size === 3)
    expect([...asked].sort()).toEqual(['a', 'b', 's'])
    gone.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    for (const name of ['a', 'b', 's', 'c', 'e']) {
      await until(() => ends.has(name))
      expect([...running].filter(each => each !== 's').length).toBeLessThanOrEqual(2)
      ends.get(name)!()
    }
    await Promise.all([...all, last, short])
    expect(asked.slice(3)).toEqual(['c', 'e'])
  })
})

describe('bodies', () => {
  const status = async (body: string | Buffer) =>
    send(port, '/v1/completions', body, { headers: { 'content-type': 'application/json' } })

  test('deep JSON is a mistake of the client', async () => {
    for (const body of [
      `{"prompt":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      `{"a":`.repeat(100_000),
      `{"prompt":[5],"metadata":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`,
    ]) {
      const answer = await status(body)
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('nests deeper than 64 levels')
    }
    expect((await status(`{"prompt":[5],"max_tokens":1,"user":"${'['.repeat(1000)}\\"{{"}`)).status).toBe(200)
  })

  test('a scan sees strings and escapes across pieces', () => {
    const scan = (text: string, size: number): string | undefined => {
      const bytes = Buffer.from(text)
      const all = new JsonScan({ depth: 2, containers: 5 })
      for (let i = 0; i < bytes.length; i += size) {
        const wrong = all.push(bytes.subarray(i, i + size))
        if (wrong) return wrong
      }
      return undefined
    }
    for (const size of [1, 2, 3, 100]) {
      expect(scan('{"a[{\\"[[":["x\\\\"]}', size)).toBeUndefined()
      expect(scan('{"a":["]",[1]]}', size)).toContain('deeper than 2')
      expect(scan('[[],[],[],[],[]]', size)).toContain('more than 5')
    }
  })

  test('bytes that are no UTF-8 are refused', async () => {
    const answer = await status(Buffer.concat([Buffer.from('{"prompt":"'), Buffer.from([0xff]), Buffer.from('"}')]))
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('not UTF-8')
  })

  test('a slow one is refused, and keeps nobody out before that', async () => {
    const server = await world.serve({ maxRequests: 2, bodyRate: { graceMs: 1500, minBytesPerSecond: 1000 } })
    const slow = Array.from({ length: 50 }, () => {
      const socket = raw(server.port, posting('/v1/completions', 500))
      socket.write('{"prompt":')
      let text = ''
      socket.on('data', part => (text += part))
      return () => text
    })
    const silent = Array.from({ length: 20 }, () => raw(server.port, ''))
    await until(() => silent.every(socket => !socket.connecting))
    expect((await post(server.port, '/v1/completions', { prompt: [5], max_tokens: 2 })).status).toBe(200)
    await until(() => slow.every(text => text().startsWith('HTTP/1.1 408')))
    expect(slow[0]!()).toMatch(/10 bytes of the body came in \d+ ms; at least 1000 in a second/)
    expect((await post(server.port, '/v1/completions', { prompt: [5], max_tokens: 2 })).status).toBe(200)
  })

  test('all bodies together are bounded', async () => {
    const server = await world.serve({ maxBodyBytes: 1000 })
    const half = 'x'.repeat(900)
    for (let i = 0; i < 17; i++) raw(server.port, posting('/v1/completions', 990) + half)
    let refused = { status: 0, text: '' }
    await until(() => sockets.every(socket => !socket.connecting))
    for (let tries = 0; tries < 100 && refused.status !== 429; tries++)
      refused = await send(server.port, '/v1/completions', { prompt: [5], user: half, max_tokens: 1 })
    expect(refused.status).toBe(429)
    expect(refused.text).toContain('16000 is the limit')
  })
})

describe('engines', () => {
  test('what they fail with has a status', async () => {
    const statuses: number[] = []
    for (const reason of ['engine', 'timeout', 'unreachable', 'protocol'] as const) {
      const at = await scripted({
        outcome: ({ id }, sample) => ({
          kind: 'failed',
          requestId: id,
          promptId: id,
          sample,
          seed: 1,
          reason,
          message: 'no',
        }),
      })
      statuses.push((await send(at, '/v1/completions', { prompt: [5], max_tokens: 1 })).status)
    }
    expect(statuses).toEqual([500, 504, 503, 502])
  })

  test('one without tokens on the way streams whole samples', async () => {
    const engine = new LogprobGenerator()
    const generate = engine.generate.bind(engine)
    Object.assign(engine.capabilities, { tokens: false })
    engine.generate = (requests, { signal } = {}) => generate(requests, signal ? { signal } : {})
    const server = await ModelServer.start({ engine, tokenizer: undefined, name: 'tiny', port: 0 })
    servers.push(server)
    const body = { token_ids: [5], sampling_params: { max_tokens: 5, logprobs: 1 }, stream: true }
    const { text } = await send(server.port, '/inference/v1/generate', body)
    const [event] = text.split('\n\n')
    expect(JSON.parse(event!.slice(6)).choices[0]).toMatchObject({
      token_ids: [0, 1, 2, 3, 4],
      finish_reason: 'length',
    })
  })
})
