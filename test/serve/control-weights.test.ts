import { cpSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryUse } from '../../src/tensor/index.js'
import { until } from '../support/serve.js'
import { controlled, controlSuite, length, long, prompt } from '../support/serve-control.js'

const suite = controlSuite()
const { tell, read, said, reload, first, begun } = suite

describe('weights', () => {
  test('of a directory take the place of those there are, exactly', async () => {
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
    expect(await reload(suite.files.other.path)).toEqual({ status: 200, body: { results: [null] } })
    expect(suite.files.other.ids).not.toEqual(suite.files.model.ids)
    expect((await first()).token_ids).toEqual(suite.files.other.ids)
    // From the root on.
    expect((await reload(basename(suite.files.model.path))).status).toBe(200)
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
    expect(await tell('/reset_prefix_cache')).toEqual({ status: 200, body: { success: true } })
    expect(await read('/get_world_size')).toEqual({ world_size: 1 })
  })

  test('in flight: the border between versions is exact, and later tokens are the new weights’', async () => {
    const name = (new_version: string) => said('/update_weight_version', { new_version })
    expect(await read('/weight_info')).toEqual({ weight_version: 'default' })
    const under = first(long)
    await begun()
    await tell('/pause?mode=keep')
    await reload(suite.files.other.path)
    expect(await name('21')).toEqual({ status: 200, body: { success: true, new_version: '21' } })
    expect(await read('/weight_info')).toEqual({ weight_version: '21' })
    await tell('/resume')
    const { token_ids, weight_versions, logprobs } = await under
    const border = weight_versions[0]!.end
    expect(weight_versions).toEqual([
      { version: 'default', start: 0, end: border },
      { version: '21', start: border, end: 200 },
    ])
    const { model } = suite.it.opened
    const [score] = await model.score([Int32Array.from([...prompt, ...token_ids])], { from: prompt.length })
    const differences = logprobs!.content.map(({ logprob }, t) => Math.abs(logprob - score!.logprobs[t]!))
    for (const value of differences.slice(border)) expect(value).toBeLessThan(1e-4)
    expect(Math.max(...differences.slice(0, border))).toBeGreaterThan(1e-3)
    expect((await first()).weight_versions).toEqual([{ version: '21', start: 0, end: length }])
    await reload(suite.files.model.path)
    await name('default')
    expect((await first()).weight_versions).toEqual([{ version: 'default', start: 0, end: length }])
  })

  test('one at a time', async () => {
    const answers = await Promise.all([reload(suite.files.other.path), reload(suite.files.model.path), tell('/sleep')])
    expect(answers.map(({ status }) => status)).toEqual([200, 409, 409])
    expect(answers[1]!.body.error).toMatchObject({ type: 'ConflictError', code: 409 })
    await reload(suite.files.model.path)
  })

  test('what cannot be read leaves the old ones serving', async () => {
    const copy = (name: string): string => {
      cpSync(suite.files.model.path, join(suite.files.root, name), { recursive: true })
      return join(suite.files.root, name)
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
      [suite.files.adapters[0].path, /model\.safetensors/],
      [join(suite.files.root, 'nowhere'), /does not exist/],
    ]
    for (const [path, words] of wrongs) {
      const { status, body } = await reload(path)
      expect([status, body.error.code], path).toEqual([500, 500])
      expect(body.error.message).toMatch(/^Call to collective_rpc method failed: /)
      expect(body.error.message).toMatch(words)
      expect((await first()).token_ids).toEqual(suite.files.model.ids)
    }
    expect((await reload(join(suite.files.model.path, 'config.json'))).status).toBe(400)
  })

  test('nothing outside the root is read, nor told of', async () => {
    const there = join(suite.files.outside, 'other')
    const link = join(suite.files.root, 'link')
    symlinkSync(there, link)
    const half = join(suite.files.root, 'half')
    mkdirSync(half)
    cpSync(join(suite.files.model.path, 'config.json'), join(half, 'config.json'))
    symlinkSync(join(there, 'model.safetensors'), join(half, 'model.safetensors'))
    const dangling = join(suite.files.root, 'dangling')
    mkdirSync(dangling)
    symlinkSync(join(suite.files.root, 'gone'), join(dangling, 'model.safetensors'))
    const wrongs = [
      ...[
        there,
        link,
        half,
        dangling,
        '/',
        '..',
        '../outside/other',
        `${suite.files.root}/../outside/other`,
        `${suite.files.root}x`,
      ],
      ...['/nowhere/at/all', join(suite.files.root, 'model/../../outside/other')],
    ]
    for (const path of wrongs) {
      const { status, body } = await reload(path)
      expect([status, body.error.type], path).toEqual([403, 'PermissionDeniedError'])
      expect(body.error.message).toContain('--weights-root')
      expect((await said('/v1/load_lora_adapter', { lora_name: 'stray', lora_path: path })).status, path).toBe(403)
    }
    expect((await reload('a\0b')).status).toBe(400)
    // A link that stays inside is followed.
    const inside = join(suite.files.root, 'inside')
    symlinkSync(suite.files.other.path, inside)
    expect((await reload(inside)).status).toBe(200)
    expect((await first()).token_ids).toEqual(suite.files.other.ids)
    await reload(suite.files.model.path)
  })

  test('without a root nothing is read', async () => {
    const bare = await controlled(suite.files, { control: {} })
    const body = { method: 'reload_weights', kwargs: { weights_path: suite.files.other.path } }
    expect((await bare.ask('/collective_rpc', body)).status).toBe(403)
    await bare.close()
  })

  test('bodies that say something else', async () => {
    const wrongs: [string, unknown, number][] = [
      ['/collective_rpc', {}, 400],
      ['/collective_rpc', { method: 'save_model' }, 501],
      ['/collective_rpc', { method: 'reload_weights' }, 400],
      ['/collective_rpc', { method: 'reload_weights', args: [suite.files.other.path] }, 400],
      ['/collective_rpc', { method: 'reload_weights', kwargs: { weight_path: suite.files.other.path } }, 400],
      ['/collective_rpc', { method: 'reload_weights', kwargs: { weights_path: 7 } }, 400],
      ['/update_weight_version', {}, 400],
      ['/update_weight_version', { new_version: 7 }, 400],
      ['/update_weight_version', { new_version: 'x'.repeat(257) }, 400],
      ['/abort_requests', { request_ids: 7 }, 400],
      ['/v1/unload_lora_adapter', {}, 400],
    ]
    for (const [path, body, status] of wrongs)
      expect((await said(path, body)).status, JSON.stringify(body)).toBe(status)
    expect((await suite.it.ask('/collective_rpc', '{', { method: 'POST' })).status).toBe(400)
    expect((await suite.it.ask('/collective_rpc', 'x'.repeat(2 ** 20 + 1))).status).toBe(413)
  })
})

describe('adapters', () => {
  const load = (lora_name: string, lora_path: string, more: object = {}) =>
    said('/v1/load_lora_adapter', { lora_name, lora_path, ...more })
  const unload = (lora_name: string) => said('/v1/unload_lora_adapter', { lora_name })

  test('are loaded under names, asked for by them, and unloaded', async () => {
    const [a, b] = suite.files.adapters
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
      ['tiny', suite.files.model.ids],
      ['policy@1', a.ids],
    ] as const) {
      const answer = await suite.it.generate({ model })
      expect(answer.model).toBe(model)
      expect(answer.choices[0]!.token_ids).toEqual(ids)
    }
    expect(await unload('policy@1')).toEqual({
      status: 200,
      body: "Success: LoRA adapter 'policy@1' removed successfully.",
    })
    expect([(await unload('policy@1')).status, (await unload('tiny')).status]).toEqual([404, 404])
    expect((await suite.it.ask('/v1/completions', { model: 'policy@1', prompt, max_tokens: 1 })).status).toBe(404)
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
    await unload('policy@2')
  })

  test('requests for several at once take turns, and each gets its own', async () => {
    const [a, b] = suite.files.adapters
    await Promise.all([load('a', a.path), load('b', b.path)])
    const expected = { a: a.ids, b: b.ids, tiny: suite.files.model.ids }
    const names = Array.from({ length: 18 }, (_, i) => (['a', 'b', 'tiny'] as const)[i % 3]!)
    const answers = await Promise.all(names.map(model => suite.it.generate({ model })))
    for (const [i, { choices, model }] of answers.entries()) {
      expect(model).toBe(names[i])
      expect(choices[0]!.token_ids).toEqual(expected[names[i]!])
    }
    await Promise.all([unload('a'), unload('b')])
  })

  test('one in use is unloaded when its last request has ended, one replaced keeps its requests', async () => {
    const [a, b] = suite.files.adapters
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
    expect((await first()).token_ids).toEqual(suite.files.model.ids)
    await until(() => memoryUse().liveTensors < before)
  })

  test('requests that wait for their turn are ended by a pause', async () => {
    const [a] = suite.files.adapters
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
    const [a] = suite.files.adapters
    await load('a', a.path)
    await reload(suite.files.other.path)
    const over = (await first({ model: 'a' })).token_ids
    expect(over).not.toEqual(a.ids)
    await tell('/sleep')
    await tell('/wake_up')
    expect((await first({ model: 'a' })).token_ids).toEqual(over)
    expect((await first()).token_ids).toEqual(suite.files.other.ids)
    await reload(suite.files.model.path)
    expect((await first({ model: 'a' })).token_ids).toEqual(a.ids)
    await unload('a')
  })

  test('what is no adapter of this model is refused', async () => {
    const [a] = suite.files.adapters
    expect((await load('x', join(suite.files.root, 'nowhere'))).status).toBe(404)
    const model = await load('x', suite.files.model.path)
    expect([model.status, model.body.error.param]).toEqual([400, 'lora_path'])
    const broken = join(suite.files.root, 'broken-adapter')
    cpSync(a.path, broken, { recursive: true })
    truncateSync(join(broken, 'adapter_model.safetensors'), 300)
    expect((await load('x', broken)).status).toBe(400)
    expect((await said('/v1/load_lora_adapter', { lora_path: a.path })).body.error.type).toBe('InvalidUserInput')
    const few = await controlled(suite.files, { control: { weightsRoot: suite.files.root, maxAdapters: 1 } })
    const loadThere = (lora_name: string) => few.ask('/v1/load_lora_adapter', { lora_name, lora_path: a.path })
    expect((await loadThere('one')).status).toBe(200)
    const second = await loadThere('two')
    expect([second.status, second.text.includes('--max-loras')]).toEqual([400, true])
    await few.close()
    const none = await controlled(suite.files, { engine: { adapters: 'none' } })
    expect((await none.ask('/v1/load_lora_adapter', { lora_name: 'a', lora_path: a.path })).status).toBe(404)
    await none.close()
  })
})
