import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { makeWorld, post, send, until, type World } from '../support/serve.js'

let world: World
let port: number
beforeAll(async () => {
  world = await makeWorld()
  port = (await world.serve({ maxBodyBytes: 100_000 })).port
})
afterAll(() => world.close())
afterEach(() => until(() => world.opened.engine.counts.running + world.opened.engine.counts.waiting === 0))

const idle = { running: 0, waiting: 0, usedBlocks: 0 }
const long = { prompt: [5, 6, 7], max_tokens: 240, ignore_eos: true }

describe('bodies of refusal', () => {
  const p = (length: number) => Array.from({ length }, (_, i) => 3 + (i % 100))
  test.each<[object, number, string, RegExp, string | null]>([
    [
      { prompt: p(5), max_tokens: 300 },
      400,
      'BadRequestError',
      /^max_tokens=300 cannot be greater than max_model_len=256/,
      'max_tokens',
    ],
    [
      { prompt: p(300) },
      400,
      'BadRequestError',
      /^This model's maximum context length is 256 tokens. However, your prompt contains 300/,
      'input_tokens',
    ],
    [{ prompt: p(256), max_tokens: 1 }, 400, 'BadRequestError', /^max_tokens must be at least 1, got 0/, 'max_tokens'],
    [{ prompt: [] }, 400, 'BadRequestError', /^You must pass at least one prompt/, null],
    [{ prompt: '' }, 400, 'BadRequestError', /^Either prompt or prompt_embeds/, 'prompt'],
    [{}, 400, 'BadRequestError', /^Either prompt or prompt_embeds/, 'prompt'],
    [{ prompt: [1, 500000] }, 400, 'BadRequestError', /^Token id 500000 is out of vocabulary/, null],
    [{ prompt: [1, -1] }, 400, 'BadRequestError', /^Token id -1 is out of vocabulary/, null],
    [{ prompt: p(5), max_tokens: 'six' }, 400, 'Bad Request', /max_tokens/, 'body.max_tokens'],
    [{ prompt: { a: 1 } }, 400, 'Bad Request', /prompt/, 'body.prompt'],
    [{ prompt: p(5), model: 'nope' }, 404, 'NotFoundError', /`nope` does not exist/, 'model'],
    [{ prompt: p(5), temperature: 2.5 }, 400, 'BadRequestError', /temperature/, 'temperature'],
    [
      { prompt: p(5), n: 2, temperature: 0 },
      400,
      'BadRequestError',
      /^n must be 1 when using greedy sampling, got 2\./,
      'n',
    ],
    [{ prompt: p(5), n: 1e9 }, 400, 'BadRequestError', /4096 choices/, 'n'],
    [{ prompt: p(5), top_p: 0 }, 400, 'BadRequestError', /top_p/, 'top_p'],
    [{ prompt: p(5), stop: [''] }, 400, 'BadRequestError', /stop/, 'stop'],
    [{ prompt: p(5), min_tokens: 20, max_tokens: 10 }, 400, 'BadRequestError', /min_tokens/, 'min_tokens'],
    [{ prompt: p(5), logprobs: 21 }, 400, 'BadRequestError', /logprobs/, 'logprobs'],
    [{ prompt: p(5), presence_penalty: 1 }, 400, 'BadRequestError', /not supported/, 'presence_penalty'],
    [{ prompt: p(5), stop_token_ids: [1e6] }, 400, 'BadRequestError', /out of vocabulary/, null],
  ])('case %#', async (body, status, type, message, param) => {
    const answer = await post(port, '/v1/completions', body)
    expect(answer.status).toBe(status)
    expect(answer.body.error).toMatchObject({ type, param, code: status })
    expect(answer.body.error.message).toMatch(message)
  })

  test('more tokens than the context leaves are clamped', async () => {
    const { status, body } = await post(port, '/v1/completions', {
      prompt: p(250),
      max_tokens: 20,
      ignore_eos: true,
      return_token_ids: true,
    })
    expect(status).toBe(200)
    expect(body.choices[0]).toMatchObject({ finish_reason: 'length' })
    expect(body.choices[0].token_ids).toHaveLength(6)
  })

  test('unknown paths and methods', async () => {
    expect(await send(port, '/nothing')).toMatchObject({ status: 404, text: '{"detail":"Not Found"}' })
    expect(await send(port, '/v1/completions')).toMatchObject({ status: 405, text: '{"detail":"Method Not Allowed"}' })
  })
})

describe('broken requests', () => {
  test.each([['{"prompt": '], ['[1,2]'], ['"text"'], ['']])('bad JSON %j', async body => {
    const answer = await send(port, '/v1/completions', body, { headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.text).error.type).toBe('Bad Request')
  })

  test('another content type', async () => {
    const headers = { 'content-type': 'text/plain' }
    expect((await send(port, '/v1/completions', '{"prompt":[5]}', { headers })).status).toBe(400)
  })

  test('an oversize body, announced or not', async () => {
    const large = JSON.stringify({ prompt: 'x'.repeat(200_000) })
    expect((await send(port, '/v1/completions', large)).status).toBe(413)
    const headers = { 'transfer-encoding': 'chunked' }
    const status = await send(port, '/v1/completions', large, { headers }).then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code,
    )
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(status)
    expect((await send(port, '/health')).status).toBe(200)
  })

  test('a body that never comes, and one that is cut off', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"prompt"',
    )
    await new Promise(resolve => setTimeout(resolve, 30))
    socket.destroy()
    expect((await send(port, '/health')).status).toBe(200)
  })

  test('no HTTP at all', async () => {
    const answer = await new Promise<string>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.write('hello\r\n\r\n'))
      let text = ''
      socket.on('data', part => (text += part))
      socket.on('close', () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1.1 400/)
  })
})

describe('clients that go away', () => {
  test.each([true, false])('streaming %s: disconnecting cancels the request', async stream => {
    const { engine } = world.opened
    const before = engine.counts.generatedTokens
    const sent = request({
      host: '127.0.0.1',
      port,
      path: '/v1/completions',
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json' },
    })
    sent.on('error', () => {})
    sent.end(JSON.stringify({ ...long, n: 8, stream }))
    await until(() => engine.counts.running === 8)
    sent.destroy()
    await until(() => engine.counts.running === 0)
    expect(engine.counts).toMatchObject(idle)
    expect(engine.counts.generatedTokens - before).toBeLessThan(8 * 240)
  })

  test('a slow reader holds up nobody', async () => {
    const socket = connect({ port, host: '127.0.0.1' })
    const body = JSON.stringify({ ...long, n: 32, stream: true, logprobs: 20 })
    socket.pause()
    socket.write(
      `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await until(() => world.opened.engine.counts.running === 32)
    expect((await post(port, '/v1/completions', { prompt: [5], max_tokens: 3 })).status).toBe(200)
    await until(() => world.opened.engine.counts.running === 0, 30_000)
    // It gets everything once it reads.
    let text = ''
    socket.on('data', part => (text += part))
    socket.resume()
    await until(() => text.includes('[DONE]'), 20_000)
    expect(text.match(/"finish_reason":"length"/g)).toHaveLength(32)
    socket.destroy()
  })
})

test('200 clients at once', async () => {
  const server = await world.serve()
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      post(server.port, '/v1/completions', { prompt: [5 + i, 6, 7], max_tokens: 6, seed: i, return_token_ids: true }),
    ),
  )
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  const alone = await post(server.port, '/v1/completions', {
    prompt: [5 + 123, 6, 7],
    max_tokens: 6,
    seed: 123,
    return_token_ids: true,
  })
  expect(answers[123]!.body.choices[0].token_ids).toEqual(alone.body.choices[0].token_ids)
})

test('more requests than are allowed at once are refused', async () => {
  const server = await world.serve({ maxRequests: 3 })
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send(server.port, '/v1/completions', { ...long, max_tokens: 60 })),
  )
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses[0]).toBe(200)
  expect(statuses.at(-1)).toBe(429)
  const refused = answers.find(({ status }) => status === 429)!
  expect(refused.headers['retry-after']).toBe('1')
})

test('a key: without it or with another one nothing is answered, but health is', async () => {
  const server = await world.serve({ apiKey: 'secret' })
  const ask = (headers: Record<string, string>) => send(server.port, '/v1/models', undefined, { headers })
  expect(await ask({})).toMatchObject({ status: 401, text: '{"error":"Unauthorized"}' })
  expect((await ask({ authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await ask({ authorization: 'Bearer secret' })).status).toBe(200)
  expect((await send(server.port, '/tokenize', { prompt: 'x' })).status).toBe(401)
  expect((await send(server.port, '/health')).status).toBe(200)
})

test('closing answers what is in flight, and refuses the rest', async () => {
  const server = await world.serve()
  const { port } = server
  const running = post(server.port, '/v1/completions', { ...long, max_tokens: 100 })
  await until(() => world.opened.engine.counts.running === 1)
  const closing = server.close({ graceMs: 20_000 })
  await expect(send(port, '/health')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect((await running).body.choices[0].finish_reason).toBe('length')
  await closing
})

test('closing without patience gives what there is', async () => {
  const server = await world.serve()
  const running = post(server.port, '/v1/completions', { ...long, n: 20, return_token_ids: true })
  await until(() => world.opened.engine.counts.running === 20)
  await server.close({ graceMs: 10 })
  const { status, body } = await running
  expect(status).toBe(200)
  expect(body.choices.some((choice: { finish_reason: string }) => choice.finish_reason === 'abort')).toBe(true)
})
