import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ModelServer } from '../../src/serve/index.js'
import { send, until } from '../support/serve.js'
import { apiKey, controlled, controlSuite, long, prompt } from '../support/serve-control.js'

const suite = controlSuite()
const { tell, read, said, reload, first, running, begun } = suite

describe('who may', () => {
  const routes = [
    ...['/pause', '/resume', '/sleep', '/wake_up', '/reset_prefix_cache', '/collective_rpc', '/update_weight_version'],
    ...['/abort_requests', '/v1/load_lora_adapter', '/v1/unload_lora_adapter'],
  ].map(path => ['POST', path] as const)
  const asked = ['/is_paused', '/is_sleeping', '/weight_info', '/get_world_size'].map(path => ['GET', path] as const)

  test.each([...routes, ...asked])('%s %s: nobody without the key, and by that method alone', async (method, path) => {
    for (const authorization of ['', 'Bearer wrong']) {
      const body = method === 'POST' ? {} : undefined
      const { status, text } = await suite.it.ask(path, body, { method, headers: { authorization } })
      expect([status, text]).toEqual([401, '{"error":"Unauthorized"}'])
    }
    const other = method === 'POST' ? 'GET' : 'POST'
    expect((await suite.it.ask(path, undefined, { method: other })).status).toBe(405)
    expect((await suite.it.ask(path, undefined, { method, headers: { origin: 'https://a.example' } })).status).toBe(403)
  })

  test('control without a key does not start; without control there are no such routes', async () => {
    const { engine, weights, tokenizer } = suite.it.opened
    const options = { engine, tokenizer, name: 'tiny', port: 0 }
    await expect(ModelServer.start({ ...options, control: { weights } })).rejects.toThrow('API key')
    const nowhere = { weights, weightsRoot: join(suite.files.root, 'nowhere') }
    await expect(ModelServer.start({ ...options, apiKey, control: nowhere })).rejects.toThrow('not a directory')
    const plain = await ModelServer.start(options)
    for (const [method, path] of [...routes, ...asked])
      expect((await send(plain.port, path, undefined, { method })).status, path).toBe(404)
    await plain.close({ graceMs: 0 })
  })

  test('a server full of requests can still be paused', async () => {
    const full = await controlled(suite.files, { serve: { maxRequests: 1 } })
    await tell('/pause?mode=keep', full)
    const waiting = full.generate()
    await until(() => full.opened.engine.counts.waiting + full.opened.engine.counts.running > 0)
    expect((await full.ask('/v1/completions', { prompt, max_tokens: 1 })).status).toBe(429)
    expect((await tell('/resume', full)).status).toBe(200)
    expect((await waiting).choices[0]!.token_ids).toEqual(suite.files.model.ids)
    await full.close()
  })
})

describe('pause and resume', () => {
  test('keep: requests wait, new ones too, and go on as if nothing had been', async () => {
    const whole = await first(long)
    const waiting = first(long)
    await begun()
    expect(await tell('/pause?mode=keep&clear_cache=false')).toEqual({ status: 200, body: { status: 'paused' } })
    expect(await read('/is_paused')).toEqual({ is_paused: true })
    const late = first()
    const { generatedTokens } = suite.it.opened.engine.counts
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(suite.it.opened.engine.counts.generatedTokens).toBe(generatedTokens)
    expect(await tell('/pause?mode=keep')).toEqual({ status: 200, body: { status: 'paused' } })
    expect(await tell('/resume')).toEqual({ status: 200, body: { status: 'resumed' } })
    expect(await read('/is_paused')).toEqual({ is_paused: false })
    expect(await waiting).toEqual(whole)
    expect((await late).token_ids).toEqual(suite.files.model.ids)
    expect((await tell('/resume')).status).toBe(200)
  })

  test('abort, the default: requests end with what they have, and can be continued', async () => {
    const whole = (await first(long)).token_ids
    const ended = first(long)
    await begun()
    await tell('/pause')
    const { finish_reason, token_ids, weight_versions } = await ended
    expect(finish_reason).toBe('abort')
    expect(token_ids.length).toBeGreaterThan(0)
    expect(token_ids).toEqual(whole.slice(0, token_ids.length))
    expect(weight_versions).toEqual([{ version: 'default', start: 0, end: token_ids.length }])
    const rest = first({ ...long, token_ids: [...prompt, ...token_ids] })
    await tell('/resume')
    expect((await rest).token_ids.slice(0, 200 - token_ids.length)).toEqual(whole.slice(token_ids.length))
  })

  test('wait: requests end by themselves, new ones wait', async () => {
    const under = first(long)
    await begun()
    const pausing = tell('/pause?mode=wait')
    await new Promise(resolve => setTimeout(resolve, 10))
    let isAnswered = false
    const late = first().finally(() => {
      isAnswered = true
    })
    expect((await pausing).status).toBe(200)
    expect((await under).finish_reason).toBe('length')
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(isAnswered).toBe(false)
    expect(running()).toBe(0)
    await tell('/resume')
    expect((await late).token_ids).toEqual(suite.files.model.ids)
  })

  test('wait after keep lets them end; a resume calls it off', async () => {
    const under = first(long)
    await begun()
    await tell('/pause?mode=keep')
    const pausing = tell('/pause?mode=wait')
    await tell('/resume')
    expect((await pausing).status).toBe(409)
    await under
    await tell('/pause?mode=keep')
    const kept = first()
    await until(() => running() + suite.it.opened.engine.counts.waiting > 0)
    expect((await tell('/pause?mode=wait')).status).toBe(200)
    expect((await kept).finish_reason).toBe('length')
    await tell('/resume')
  })

  test('a client that leaves while it waits is forgotten', async () => {
    await tell('/pause?mode=wait')
    const leave = new AbortController()
    const asked = fetch(`http://127.0.0.1:${suite.it.server.port}/inference/v1/generate`, {
      method: 'POST',
      body: JSON.stringify({ token_ids: prompt }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      signal: leave.signal,
    })
    await new Promise(resolve => setTimeout(resolve, 30))
    leave.abort()
    await expect(asked).rejects.toThrow()
    await tell('/resume')
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
    await until(() => running() === 0)
  })

  test('what it does not know it refuses', async () => {
    for (const [path, param] of [
      ['/pause?mode=stop', 'query.mode'],
      ['/pause?clear_cache=maybe', 'query.clear_cache'],
      ['/sleep?level=3', 'query.level'],
      ['/wake_up?tags=engine', 'query.tags'],
    ]) {
      const { status, body } = await tell(path!)
      expect([status, body.error.type, body.error.param]).toEqual([400, 'Bad Request', param])
    }
    expect(await read('/is_paused')).toEqual({ is_paused: false })
  })
})

describe('abort_requests', () => {
  test('by the ids of answers, or all', async () => {
    const named = (id: string) => first({ ...long, request_id: id })
    const [a, b] = [named('a'), named('b')]
    await until(() => running() === 2)
    const aborted = await said('/abort_requests', { request_ids: ['generate-tokens-a', 'unknown'] })
    expect(aborted).toEqual({ status: 200, body: { status: 'aborted', aborted: 2 } })
    expect((await a).finish_reason).toBe('abort')
    expect(running()).toBe(1)
    expect(await said('/abort_requests', {})).toEqual({ status: 200, body: { status: 'aborted', aborted: 1 } })
    expect((await b).finish_reason).toBe('abort')
  })

  test('a call that overtakes its request ends it when it comes; one that is long past does not', async () => {
    await said('/abort_requests', { request_ids: ['generate-tokens-late', 'cmpl-late-1'] })
    expect(await first({ ...long, request_id: 'late' })).toMatchObject({ finish_reason: 'abort', token_ids: [] })
    expect((await first({ request_id: 'late' })).finish_reason).toBe('length')
    const body = { prompt: [prompt, prompt], max_tokens: 2, ignore_eos: true, request_id: 'late' }
    const { choices } = JSON.parse((await suite.it.ask('/v1/completions', body)).text)
    expect(choices.map((one: { finish_reason: string }) => one.finish_reason)).toEqual(['length', 'abort'])
    await said('/abort_requests', { request_ids: ['generate-tokens-past'] })
    await new Promise(resolve => setTimeout(resolve, 2050))
    expect((await first({ request_id: 'past' })).finish_reason).toBe('length')
  })

  test('a prompt of several, also before its turn; of a stream', async () => {
    await tell('/pause?mode=wait')
    const ask = (request_id: string, body: object = {}) =>
      suite.it.ask('/v1/completions', {
        prompt: [prompt, prompt],
        max_tokens: 4,
        ignore_eos: true,
        request_id,
        ...body,
      })
    const both = ask('p', { return_token_ids: true, prompt_logprobs: 0 })
    const streamed = ask('s', { stream: true })
    await new Promise(resolve => setTimeout(resolve, 30))
    await said('/abort_requests', { request_ids: ['cmpl-p-1', 'cmpl-s'] })
    const events = (await streamed).text
    expect(events.match(/"finish_reason":"abort"/g)).toHaveLength(2)
    expect(events).toContain('[DONE]')
    await tell('/resume')
    const { choices } = JSON.parse((await both).text)
    expect(choices.map((one: { finish_reason: string }) => one.finish_reason)).toEqual(['length', 'abort'])
    expect(choices[1].token_ids).toEqual([])
  })
})

describe('sleep', () => {
  test('memory is given back, requests wait, and all is as before', async () => {
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: false })
    const under = first(long)
    await begun()
    expect(await tell('/sleep')).toEqual({ status: 200, body: { status: 'sleeping', level: 1 } })
    expect((await under).finish_reason).toBe('abort')
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: true })
    const late = first()
    expect((await reload(suite.files.other.path)).status).toBe(409)
    expect((await tell('/wake_up?tags=kv_cache')).status).toBe(409)
    expect(await tell('/wake_up?tags=weights')).toEqual({
      status: 200,
      body: { status: 'sleeping', tags: ['weights'] },
    })
    expect((await reload(suite.files.other.path)).status).toBe(200)
    expect(await tell('/wake_up')).toEqual({ status: 200, body: { status: 'awake', tags: null } })
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: false })
    expect((await late).token_ids).toEqual(suite.files.other.ids)
    await reload(suite.files.model.path)
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
  })

  test('a resume wakes nobody: requests wait until the server is awake', async () => {
    await tell('/sleep')
    await tell('/resume')
    const late = first()
    // Refused at once, it would have answered before this.
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: true })
    await tell('/wake_up')
    expect((await late).token_ids).toEqual(suite.files.model.ids)
  })

  test('level 0 is a pause that waking ends; kept requests go on', async () => {
    expect((await tell('/sleep?level=0&mode=keep')).body).toEqual({ status: 'sleeping', level: 0 })
    expect(await read('/is_paused')).toEqual({ is_paused: true })
    await tell('/wake_up?tags=scheduling')
    expect(await read('/is_paused')).toEqual({ is_paused: false })
    const whole = await first(long)
    const under = first(long)
    await begun()
    await tell('/sleep?level=2&mode=keep')
    await tell('/wake_up')
    expect(await under).toEqual(whole)
  })
})
