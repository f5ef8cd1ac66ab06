import { cpSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ModelServer } from '../../src/serve/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { send, until } from '../support/serve.js'
import {
  apiKey,
  type ControlFiles,
  type Controlled,
  controlFiles,
  controlled,
  length,
  prompt,
} from '../support/serve-control.js'

let files: ControlFiles
let it: Controlled
beforeAll(async () => {
  files = await controlFiles()
  it = await controlled(files)
})
afterAll(async () => {
  await it.close()
  files.remove()
})

const tell = async (path: string, on = it) => {
  const { status, text } = await on.ask(path, undefined, { method: 'POST' })
  return { status, body: JSON.parse(text) }
}
const read = async (path: string) => JSON.parse((await it.ask(path)).text)
const said = async (path: string, body: unknown) => {
  const { status, text } = await it.ask(path, body)
  return { status, body: text.startsWith('{') ? JSON.parse(text) : text }
}
const reload = (weights_path: string) => said('/collective_rpc', { method: 'reload_weights', kwargs: { weights_path } })
const first = async (body: object = {}) => (await it.generate(body)).choices[0]!
const running = () => it.opened.engine.counts.running
const long = { sampling_params: { temperature: 0, max_tokens: 200, ignore_eos: true, logprobs: 0 } }
/** So far into an answer that something of it is there. */
async function begun(tokens = 5): Promise<void> {
  const { generatedTokens } = it.opened.engine.counts
  await until(() => it.opened.engine.counts.generatedTokens >= generatedTokens + tokens)
}

describe('who may', () => {
  const routes = [
    ...['/pause', '/resume', '/sleep', '/wake_up', '/reset_prefix_cache', '/collective_rpc', '/update_weight_version'],
    ...['/abort_requests', '/v1/load_lora_adapter', '/v1/unload_lora_adapter'],
  ].map(path => ['POST', path] as const)
  const asked = ['/is_paused', '/is_sleeping', '/weight_info', '/get_world_size'].map(path => ['GET', path] as const)

  test.each([...routes, ...asked])('%s %s: nobody without the key, and by that method alone', async (method, path) => {
    for (const authorization of ['', 'Bearer wrong']) {
      const body = method === 'POST' ? {} : undefined
      const { status, text } = await it.ask(path, body, { method, headers: { authorization } })
      expect([status, text]).toEqual([401, '{"error":"Unauthorized"}'])
    }
    const other = method === 'POST' ? 'GET' : 'POST'
    expect((await it.ask(path, undefined, { method: other })).status).toBe(405)
    expect((await it.ask(path, undefined, { method, headers: { origin: 'https://a.example' } })).status).toBe(403)
  })

  test('control without a key does not start; without control there are no such routes', async () => {
    const { engine, weights, tokenizer } = it.opened
    const options = { engine, tokenizer, name: 'tiny', port: 0 }
    await expect(ModelServer.start({ ...options, control: { weights } })).rejects.toThrow('API key')
    const nowhere = { weights, weightsRoot: join(files.root, 'nowhere') }
    await expect(ModelServer.start({ ...options, apiKey, control: nowhere })).rejects.toThrow('not a directory')
    const plain = await ModelServer.start(options)
    for (const [method, path] of [...routes, ...asked])
      expect((await send(plain.port, path, undefined, { method })).status, path).toBe(404)
    await plain.close({ graceMs: 0 })
  })

  test('a server full of requests can still be paused', async () => {
    const full = await controlled(files, { serve: { maxRequests: 1 } })
    await tell('/pause?mode=keep', full)
    const waiting = full.generate()
    await until(() => full.opened.engine.counts.waiting + full.opened.engine.counts.running > 0)
    expect((await full.ask('/v1/completions', { prompt, max_tokens: 1 })).status).toBe(429)
    expect((await tell('/resume', full)).status).toBe(200)
    expect((await waiting).choices[0]!.token_ids).toEqual(files.model.ids)
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
    const { generatedTokens } = it.opened.engine.counts
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(it.opened.engine.counts.generatedTokens).toBe(generatedTokens)
    expect(await tell('/pause?mode=keep')).toEqual({ status: 200, body: { status: 'paused' } })
    expect(await tell('/resume')).toEqual({ status: 200, body: { status: 'resumed' } })
    expect(await read('/is_paused')).toEqual({ is_paused: false })
    expect(await waiting).toEqual(whole)
    expect((await late).token_ids).toEqual(files.model.ids)
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
    expect((await late).token_ids).toEqual(files.model.ids)
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
    await until(() => running() + it.opened.engine.counts.waiting > 0)
    expect((await tell('/pause?mode=wait')).status).toBe(200)
    expect((await kept).finish_reason).toBe('length')
    await tell('/resume')
  })

  test('a client that leaves while it waits is forgotten', async () => {
    await tell('/pause?mode=wait')
    const leave = new AbortController()
    const asked = fetch(`http://127.0.0.1:${it.server.port}/inference/v1/generate`, {
      method: 'POST',
      body: JSON.stringify({ token_ids: prompt }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      signal: leave.signal,
    })
    await new Promise(resolve => setTimeout(resolve, 30))
    leave.abort()
    await expect(asked).rejects.toThrow()
    await tell('/resume')
    expect((await first()).token_ids).toEqual(files.model.ids)
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
    const { choices } = JSON.parse((await it.ask('/v1/completions', body)).text)
    expect(choices.map((one: { finish_reason: string }) => one.finish_reason)).toEqual(['length', 'abort'])
    await said('/abort_requests', { request_ids: ['generate-tokens-past'] })
    await new Promise(resolve => setTimeout(resolve, 2050))
    expect((await first({ request_id: 'past' })).finish_reason).toBe('length')
  })

  test('a prompt of several, also before its turn; of a stream', async () => {
    await tell('/pause?mode=wait')
    const ask = (request_id: string, body: object = {}) =>
      it.ask('/v1/completions', { prompt: [prompt, prompt], max_tokens: 4, ignore_eos: true, request_id, ...body })
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
    expect((await reload(files.other.path)).status).toBe(409)
    expect((await tell('/wake_up?tags=kv_cache')).status).toBe(409)
    expect(await tell('/wake_up?tags=weights')).toEqual({
      status: 200,
      body: { status: 'sleeping', tags: ['weights'] },
    })
    expect((await reload(files.other.path)).status).toBe(200)
    expect(await tell('/wake_up')).toEqual({ status: 200, body: { status: 'awake', tags: null } })
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: false })
    expect((await late).token_ids).toEqual(files.other.ids)
    await reload(files.model.path)
    expect((await first()).token_ids).toEqual(files.model.ids)
  })

  test('a resume wakes nobody: requests wait until the server is awake', async () => {
    await tell('/sleep')
    await tell('/resume')
    const late = first()
    // Refused at once, it would have answered before this.
    expect(await read('/is_sleeping')).toEqual({ is_sleeping: true })
    await tell('/wake_up')
    expect((await late).token_ids).toEqual(files.model.ids)
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

describe('weights', () => {
  test('of a directory take the place of those there are, exactly', async () => {
    expect((await first()).token_ids).toEqual(files.model.ids)
    expect(await reload(files.other.path)).toEqual({ status: 200, body: { results: [null] } })
    expect(files.other.ids).not.toEqual(files.model.ids)
    expect((await first()).token_ids).toEqual(files.other.ids)
    // From the root on.
    expect((await reload(basename(files.model.path))).status).toBe(200)
    expect((await first()).token_ids).toEqual(files.model.ids)
    expect(await tell('/reset_prefix_cache')).toEqual({ status: 200, body: { success: true } })
    expect(await read('/get_world_size')).toEqual({ world_size: 1 })
  })

  test('in flight: the border between versions is exact, and later tokens are the new weights’', async () => {
    const name = (new_version: string) => said('/update_weight_version', { new_version })
    expect(await read('/weight_info')).toEqual({ weight_version: 'default' })
    const under = first(long)
    await begun()
    await tell('/pause?mode=keep')
    await reload(files.other.path)
    expect(await name('21')).toEqual({ status: 200, body: { success: true, new_version: '21' } })
    expect(await read('/weight_info')).toEqual({ weight_version: '21' })
    await tell('/resume')
    const { token_ids, weight_versions, logprobs } = await under
    const border = weight_versions[0]!.end
    expect(weight_versions).toEqual([
      { version: 'default', start: 0, end: border },
      { version: '21', start: border, end: 200 },
    ])
    const { model } = it.opened
    const [score] = await model.score([Int32Array.from([...prompt, ...token_ids])], { from: prompt.length })
    const differences = logprobs!.content.map(({ logprob }, t) => Math.abs(logprob - score!.logprobs[t]!))
    for (const value of differences.slice(border)) expect(value).toBeLessThan(1e-4)
    expect(Math.max(...differences.slice(0, border))).toBeGreaterThan(1e-3)
    expect((await first()).weight_versions).toEqual([{ version: '21', start: 0, end: length }])
    await reload(files.model.path)
    await name('default')
    expect((await first()).weight_versions).toEqual([{ version: 'default', start: 0, end: length }])
  })

  test('one at a time', async () => {
    const answers = await Promise.all([reload(files.other.path), reload(files.model.path), tell('/sleep')])
    expect(answers.map(({ status }) => status)).toEqual([200, 409, 409])
    expect(answers[1]!.body.error).toMatchObject({ type: 'ConflictError', code: 409 })
    await reload(files.model.path)
  })

  test('what cannot be read leaves the old ones serving', async () => {
    const copy = (name: string): string => {
      cpSync(files.model.path, join(files.root, name), { recursive: true })
      return join(files.root, name)
    }
    const cut = copy('cut')
    truncateSync(join(cut, 'model.safetensors'), 5000)
    const wider = copy('wider')
    writeFileSync(join(wider, 'config.json'), '{"architectures": ["Qwen2ForCausalLM"]')
    const pickled = copy('pickled')
    rmSync(join(pickled, 'model.safetensors'))
    writeFileSync(join(pickled, 'pytorch_model.bin'), 'x')
    const wrongs: [string, RegExp][] = [
      [cut, /model\.safetensors/],
      [wider, /config\.json/],
      [pickled, /neither model\.safetensors nor/],
      [files.adapters[0].path, /model\.safetensors/],
      [join(files.root, 'nowhere'), /does not exist/],
    ]
    for (const [path, words] of wrongs) {
      const { status, body } = await reload(path)
      expect([status, body.error.code], path).toEqual([500, 500])
      expect(body.error.message).toMatch(/^Call to collective_rpc method failed: /)
      expect(body.error.message).toMatch(words)
      expect((await first()).token_ids).toEqual(files.model.ids)
    }
    expect((await reload(join(files.model.path, 'config.json'))).status).toBe(400)
  })

  test('nothing outside the root is read, nor told of', async () => {
    const there = join(files.outside, 'other')
    const link = join(files.root, 'link')
    symlinkSync(there, link)
    const half = join(files.root, 'half')
    mkdirSync(half)
    cpSync(join(files.model.path, 'config.json'), join(half, 'config.json'))
    symlinkSync(join(there, 'model.safetensors'), join(half, 'model.safetensors'))
    const dangling = join(files.root, 'dangling')
    mkdirSync(dangling)
    symlinkSync(join(files.root, 'gone'), join(dangling, 'model.safetensors'))
    const wrongs = [
      ...[
        there,
        link,
        half,
        dangling,
        '/',
        '..',
        '../outside/other',
        `${files.root}/../outside/other`,
        `${files.root}x`,
      ],
      ...['/nowhere/at/all', join(files.root, 'model/../../outside/other')],
    ]
    for (const path of wrongs) {
      const { status, body } = await reload(path)
      expect([status, body.error.type], path).toEqual([403, 'PermissionDeniedError'])
      expect(body.error.message).toContain('--weights-root')
      expect((await said('/v1/load_lora_adapter', { lora_name: 'stray', lora_path: path })).status, path).toBe(403)
    }
    expect((await reload('a\0b')).status).toBe(400)
    // A link that stays inside is followed.
    const inside = join(files.root, 'inside')
    symlinkSync(files.other.path, inside)
    expect((await reload(inside)).status).toBe(200)
    expect((await first()).token_ids).toEqual(files.other.ids)
    await reload(files.model.path)
  })

  test('without a root nothing is read', async () => {
    const bare = await controlled(files, { control: {} })
    const body = { method: 'reload_weights', kwargs: { weights_path: files.other.path } }
    expect((await bare.ask('/collective_rpc', body)).status).toBe(403)
    await bare.close()
  })

  test('bodies that say something else', async () => {
    const wrongs: [string, unknown, number][] = [
      ['/collective_rpc', {}, 400],
      ['/collective_rpc', { method: 'save_model' }, 501],
      ['/collective_rpc', { method: 'reload_weights' }, 400],
      ['/collective_rpc', { method: 'reload_weights', args: [files.other.path] }, 400],
      ['/collective_rpc', { method: 'reload_weights', kwargs: { weight_path: files.other.path } }, 400],
      ['/collective_rpc', { method: 'reload_weights', kwargs: { weights_path: 7 } }, 400],
      ['/update_weight_version', {}, 400],
      ['/update_weight_version', { new_version: 7 }, 400],
      ['/update_weight_version', { new_version: 'x'.repeat(257) }, 400],
      ['/abort_requests', { request_ids: 7 }, 400],
      ['/v1/unload_lora_adapter', {}, 400],
    ]
    for (const [path, body, status] of wrongs)
      expect((await said(path, body)).status, JSON.stringify(body)).toBe(status)
    expect((await it.ask('/collective_rpc', '{', { method: 'POST' })).status).toBe(400)
    expect((await it.ask('/collective_rpc', 'x'.repeat(2 ** 20 + 1))).status).toBe(413)
  })
})

describe('adapters', () => {
  const load = (lora_name: string, lora_path: string, more: object = {}) =>
    said('/v1/load_lora_adapter', { lora_name, lora_path, ...more })
  const unload = (lora_name: string) => said('/v1/unload_lora_adapter', { lora_name })

  test('are loaded under names, asked for by them, and unloaded', async () => {
    const [a, b] = files.adapters
    expect(await load('policy@1', a.path)).toEqual({
      status: 200,
      body: "Success: LoRA adapter 'policy@1' added successfully.",
    })
    const again = await load('policy@1', b.path)
    expect([again.status, again.body.error.type]).toEqual([400, 'InvalidUserInput'])
    expect(again.body.error.message).toContain("set 'load_inplace' to True")
    expect((await load('tiny', b.path)).status).toBe(400)
    await load('policy@2', b.path)
    const { data } = await read('/v1/models')
    expect(data.map(({ id, parent, root }: Record<string, string>) => [id, parent, root])).toEqual([
      ['tiny', null, 'tiny'],
      ['policy@1', 'tiny', a.path],
      ['policy@2', 'tiny', b.path],
    ])
    expect((await read('/v1/models/policy@2')).parent).toBe('tiny')
    for (const [model, ids] of [
      ['policy@1', a.ids],
      ['policy@2', b.ids],
      ['tiny', files.model.ids],
      ['policy@1', a.ids],
    ] as const) {
      const answer = await it.generate({ model })
      expect(answer.model).toBe(model)
      expect(answer.choices[0]!.token_ids).toEqual(ids)
    }
    expect(await unload('policy@1')).toEqual({
      status: 200,
      body: "Success: LoRA adapter 'policy@1' removed successfully.",
    })
    expect([(await unload('policy@1')).status, (await unload('tiny')).status]).toEqual([404, 404])
    expect((await it.ask('/v1/completions', { model: 'policy@1', prompt, max_tokens: 1 })).status).toBe(404)
    expect((await first()).token_ids).toEqual(files.model.ids)
    await unload('policy@2')
  })

  test('requests for several at once take turns, and each gets its own', async () => {
    const [a, b] = files.adapters
    await Promise.all([load('a', a.path), load('b', b.path)])
    const expected = { a: a.ids, b: b.ids, tiny: files.model.ids }
    const names = Array.from({ length: 18 }, (_, i) => (['a', 'b', 'tiny'] as const)[i % 3]!)
    const answers = await Promise.all(names.map(model => it.generate({ model })))
    for (const [i, { choices, model }] of answers.entries()) {
      expect(model).toBe(names[i])
      expect(choices[0]!.token_ids).toEqual(expected[names[i]!])
    }
    await Promise.all([unload('a'), unload('b')])
  })

  test('one in use is unloaded when its last request has ended, one replaced keeps its requests', async () => {
    const [a, b] = files.adapters
    await load('a', a.path)
    const { token_ids: whole } = await first({ ...long, model: 'a' })
    const before = memoryUse().liveTensors
    const under = first({ ...long, model: 'a' })
    await begun()
    expect((await load('a', b.path, { load_inplace: true })).status).toBe(200)
    const next = first({ model: 'a' })
    await unload('a')
    expect((await under).token_ids).toEqual(whole)
    expect((await next).token_ids).toEqual(b.ids)
    expect((await first()).token_ids).toEqual(files.model.ids)
    await until(() => memoryUse().liveTensors < before)
  })

  test('requests that wait for their turn are ended by a pause', async () => {
    const [a] = files.adapters
    await load('a', a.path)
    const under = first(long)
    await begun()
    const waiting = first({ ...long, model: 'a' })
    await new Promise(resolve => setTimeout(resolve, 10))
    await tell('/pause?mode=abort')
    expect((await under).finish_reason).toBe('abort')
    expect(await waiting).toMatchObject({ finish_reason: 'abort', token_ids: [], weight_versions: [] })
    await tell('/resume')
    expect((await first({ model: 'a' })).token_ids).toEqual(a.ids)
    await unload('a')
  })

  test('over other weights, and asleep', async () => {
    const [a] = files.adapters
    await load('a', a.path)
    await reload(files.other.path)
    const over = (await first({ model: 'a' })).token_ids
    expect(over).not.toEqual(a.ids)
    await tell('/sleep')
    await tell('/wake_up')
    expect((await first({ model: 'a' })).token_ids).toEqual(over)
    expect((await first()).token_ids).toEqual(files.other.ids)
    await reload(files.model.path)
    expect((await first({ model: 'a' })).token_ids).toEqual(a.ids)
    await unload('a')
  })

  test('what is no adapter of this model is refused', async () => {
    const [a] = files.adapters
    expect((await load('x', join(files.root, 'nowhere'))).status).toBe(404)
    const model = await load('x', files.model.path)
    expect([model.status, model.body.error.param]).toEqual([400, 'lora_path'])
    const broken = join(files.root, 'broken-adapter')
    cpSync(a.path, broken, { recursive: true })
    truncateSync(join(broken, 'adapter_model.safetensors'), 300)
    expect((await load('x', broken)).status).toBe(400)
    expect((await said('/v1/load_lora_adapter', { lora_path: a.path })).body.error.type).toBe('InvalidUserInput')
    const few = await controlled(files, { control: { weightsRoot: files.root, maxAdapters: 1 } })
    const loadThere = (lora_name: string) => few.ask('/v1/load_lora_adapter', { lora_name, lora_path: a.path })
    expect((await loadThere('one')).status).toBe(200)
    const second = await loadThere('two')
    expect([second.status, second.text.includes('--max-loras')]).toEqual([400, true])
    await few.close()
    const none = await controlled(files, { engine: { adapters: 'none' } })
    expect((await none.ask('/v1/load_lora_adapter', { lora_name: 'a', lora_path: a.path })).status).toBe(404)
    await none.close()
  })
})
