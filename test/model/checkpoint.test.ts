import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { families, type LoadProgress, LocalModel } from '../../src/model/index.js'
import { memoryUse, SafetensorsFile, type Tensor, writeSafetensors } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, readCase, sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([6, 11, 4])
const json = (directory: string, name: string) => JSON.parse(readFileSync(join(directory, name), 'utf8'))

async function train(model: LocalModel<'language'>, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await model.forwardBackward(given, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -0.1) })),
    )
    await model.step({ lr: 1e-3 })
  }
}

describe.each(families)('%s', family => {
  test('save and load: the same bits, whole or in shards', async () => {
    const model = await LocalModel.create(tinyConfig(family), { role: 'language', seed: 1 })
    await train(model, 2)
    const whole = temporary(`${family}-whole`)
    const sharded = temporary(`${family}-sharded`)
    await model.export(whole, { what: 'model' })
    await model.export(sharded, { what: 'model', maxShardBytes: 6000 })
    expect(existsSync(join(whole, 'model.safetensors'))).toBe(true)
    const shards = readdirSync(sharded).filter(name => /^model-\d{5}-of-\d{5}\.safetensors$/.test(name))
    expect(shards.length).toBeGreaterThan(2)
    const index = json(sharded, 'model.safetensors.index.json')
    expect(new Set(Object.values(index.weight_map))).toEqual(new Set(shards))
    for (const directory of [whole, sharded]) {
      const back = await LocalModel.load(directory, { role: 'language' })
      expect(await back.checksum()).toBe(await model.checksum())
      expect(await back.score(given)).toEqual(await model.score(given))
      expect(back.config.decoder).toEqual({ ...model.config.decoder, initRange: 0.02 })
      back.dispose()
    }
    model.dispose()
  })
})

test("transformers' file, loaded and saved, holds the same tensors", async () => {
  const model = await LocalModel.load(fixture('qwen3'), { role: 'language' })
  await model.export(temporary('again'), { what: 'model' })
  const [ours, theirs] = await Promise.all(
    [temporary('again'), fixture('qwen3')].map(directory => SafetensorsFile.open(join(directory, 'model.safetensors'))),
  )
  expect([...ours!.names].sort()).toEqual([...theirs!.names].sort())
  for (const name of theirs!.names) {
    const [a, b] = [await ours!.read(name), await theirs!.read(name)]
    expect(Buffer.from(a.bytes()).equals(Buffer.from(b.bytes())), name).toBe(true)
    a.dispose()
    b.dispose()
  }
  await ours!.close()
  await theirs!.close()
  expect(json(temporary('again'), 'config.json')).toMatchObject(json(fixture('qwen3'), 'config.json'))
  expect(json(temporary('again'), 'generation_config.json')).toEqual(json(fixture('qwen3'), 'generation_config.json'))
  model.dispose()
})

test('tokenizer and generation config travel with the weights; a save over an earlier one replaces it', async () => {
  const source = temporary('with-tokenizer')
  cpSync(fixture('qwen2'), source, { recursive: true })
  cpSync(new URL('../fixtures/tokenizer', import.meta.url).pathname, source, { recursive: true })
  mkdirSync(join(source, 'additional_chat_templates'))
  writeFileSync(join(source, 'additional_chat_templates', 'tool_use.jinja'), 'tools')
  writeFileSync(join(source, 'notes.txt'), 'not part of a model')
  const model = await LocalModel.load(source, { role: 'language' })
  const target = temporary('saved')
  await model.export(target, { what: 'model', maxShardBytes: 50_000 })
  await train(model, 1)
  await model.export(target, { what: 'model' })
  expect(readdirSync(target).sort()).toEqual(
    [
      'additional_chat_templates',
      'chat_template.jinja',
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ].sort(),
  )
  const back = await LocalModel.load(target, { role: 'language' })
  expect(await back.checksum()).toBe(await model.checksum())
  // In place, where the model came from.
  await back.export(target, { what: 'model' })
  const again = await LocalModel.load(target, { role: 'language' })
  expect(await again.checksum()).toBe(await model.checksum())
  for (const each of [model, back, again]) each.dispose()
})

test('a save that fails leaves nothing behind', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1 })
  const folder = temporary('failing')
  mkdirSync(folder)
  await expect(model.export(join(folder, 'model'), { what: 'model', maxShardBytes: 0 })).rejects.toThrow(
    'maxShardBytes',
  )
  expect(readdirSync(folder)).toEqual([])
  model.dispose()
})

test('a checksum tells weights apart, by one bit, and not by how they are stored', async () => {
  const [a, b, c] = await Promise.all(
    [1, 1, 2].map(seed => LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed })),
  )
  expect(await a!.checksum()).toBe(await b!.checksum())
  expect(await a!.checksum()).not.toBe(await c!.checksum())
  const bytes = b!.parts.weights.get('model.norm.weight')!.bytes()
  bytes[0]! ^= 1
  expect(await a!.checksum()).not.toBe(await b!.checksum())
  for (const each of [a, b, c]) each!.dispose()
})

test('bfloat16 on request: cast when loaded, written as such, near the numbers', async () => {
  const { sequences, rows } = readCase<{ sequences: number[][]; rows: { token_logprobs: number[] }[] }>('qwen2')
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language', dtype: 'bfloat16' })
  const [scored] = await model.score([Int32Array.from(sequences[0]!)])
  expectClose(scored!.logprobs, rows[0]!.token_logprobs, 0.1)
  await model.export(temporary('narrow'), { what: 'model' })
  expect(json(temporary('narrow'), 'config.json').dtype).toBe('bfloat16')
  const file = await SafetensorsFile.open(join(temporary('narrow'), 'model.safetensors'))
  expect(new Set(file.names.map(name => file.info(name).dtype))).toEqual(new Set(['bfloat16']))
  await file.close()
  model.dispose()
})

describe('loading', () => {
  test('shows progress, up to the whole', async () => {
    const seen: LoadProgress[] = []
    const model = await LocalModel.load(fixture('qwen2'), { role: 'language', onProgress: at => seen.push(at) })
    expect(seen.length).toBeGreaterThan(10)
    for (const [i, { loadedBytes, totalBytes }] of seen.entries()) {
      expect(loadedBytes).toBeGreaterThan(seen[i - 1]?.loadedBytes ?? 0)
      expect(totalBytes).toBe(seen[0]!.totalBytes)
    }
    expect(seen.at(-1)!.loadedBytes).toBe(seen[0]!.totalBytes)
    model.dispose()
  })

  test('can be cancelled at any point and leaves nothing', async () => {
    const before = await heldMemory()
    for (const at of [0, 1, 7]) {
      const stop = new AbortController()
      let parts = 0
      if (at === 0) stop.abort(new Error('not wanted any more'))
      const work = LocalModel.load(fixture('qwen2'), {
        role: 'language',
        signal: stop.signal,
        onProgress: () => {
          if (++parts === at) stop.abort(new Error('not wanted any more'))
        },
      })
      await expect(work).rejects.toThrow('not wanted any more')
      expect(parts).toBe(at)
      await expectHeld(before)
    }
  })

  test('a model in use and disposed leaves nothing', async () => {
    const before = await heldMemory()
    const model = await LocalModel.load(fixture('qwen2'), { role: 'language' })
    await train(model, 2)
    await model.score(given, { entropy: true, packing: 'off' })
    await model.nextLogits(given)
    await model.checksum()
    model.dispose()
    await expectHeld(before)
  })

  test('missing, unexpected and mis-shaped tensors are listed together', async () => {
    const directory = temporary('unfit')
    cpSync(fixture('qwen2'), directory, { recursive: true })
    const file = await SafetensorsFile.open(join(fixture('qwen2'), 'model.safetensors'))
    const tensors = new Map<string, Tensor>()
    for (const name of file.names) tensors.set(name, await file.read(name))
    await file.close()
    tensors.delete('model.layers.1.self_attn.k_proj.weight')
    tensors.set('model.layers.9.extra.weight', tensors.get('model.norm.weight')!)
    tensors.set('model.layers.0.mlp.up_proj.weight', tensors.get('model.layers.0.mlp.down_proj.weight')!)
    await writeSafetensors(join(directory, 'model.safetensors'), tensors)
    const { liveTensors } = await heldMemory()
    await expect(LocalModel.load(directory, { role: 'language' })).rejects.toThrow(
      `${directory}: the weights do not fit config.json
  missing: model.layers.1.self_attn.k_proj.weight
  unexpected: model.layers.9.extra.weight
  wrong shape: model.layers.0.mlp.up_proj.weight is [64, 176], expected [176, 64]`,
    )
    expect(memoryUse().liveTensors).toBe(liveTensors)
    for (const tensor of tensors.values()) tensor.dispose()
  })

  test('a directory without a config, or with one that is no JSON, is named', async () => {
    const directory = temporary('broken')
    mkdirSync(directory)
    await expect(LocalModel.load(directory)).rejects.toThrow(`${directory} has no config.json`)
    writeFileSync(join(directory, 'config.json'), '{')
    await expect(LocalModel.load(directory)).rejects.toThrow(`${directory}/config.json cannot be read`)
    writeFileSync(join(directory, 'config.json'), '[]')
    await expect(LocalModel.load(directory)).rejects.toThrow('expected an object')
    cpSync(join(fixture('qwen2'), 'config.json'), join(directory, 'config.json'))
    await expect(LocalModel.load(directory)).rejects.toThrow(
      'neither model.safetensors nor model.safetensors.index.json',
    )
    rmSync(directory, { recursive: true })
  })
})
