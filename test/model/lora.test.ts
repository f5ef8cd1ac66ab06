import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AdapterOptions, families, type LoadOptions, LocalModel } from '../../src/model/index.js'
import { SafetensorsFile } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, readCase, sequences, temporary } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const options: AdapterOptions & { seed: number } = {
  rank: 4,
  alpha: 8,
  dropout: 0,
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'down_proj'],
  seed: 3,
}
const given = sequences([6, 11, 4])
const actor = (family: (typeof families)[number] = 'qwen2', more: Partial<LoadOptions<'language'>> = {}) =>
  LocalModel.create(tinyConfig(family), { role: 'language', seed: 1, adapter: options, ...more })

async function train(model: LocalModel<'language'>, steps = 3): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })))
    await model.step({ lr: 1e-2 })
  }
}
const logprobs = async (model: LocalModel<'language'>, adapter: 'on' | 'off' = 'on'): Promise<Float32Array[]> =>
  (await model.score(given, { adapter })).map(scored => scored.logprobs)

describe.each(families)('%s', family => {
  test('a new adapter changes nothing; training changes it alone; off, it is the reference; merged, it is the same', async () => {
    const base = await LocalModel.create(tinyConfig(family), { role: 'language', seed: 1 })
    const reference = await logprobs(base)
    const model = await actor(family)
    const checksum = await model.checksum()
    expect(checksum).toBe(await base.checksum())
    for (const [i, row] of (await logprobs(model)).entries()) expectClose(row, reference[i]!, 1e-5)

    const untrained = [...model.adapter!.tensors()].map(([, tensor]) => tensor.toArray<'float32'>())
    await train(model)
    expect(await model.checksum()).toBe(checksum)
    for (const [i, [name, tensor]] of [...model.adapter!.tensors()].entries())
      expect(tensor.toArray(), name).not.toEqual(untrained[i])
    const trained = await logprobs(model)
    expect(trained).not.toEqual(reference)
    expect(await logprobs(model, 'off')).toEqual(reference)

    const { version, weightsRevision } = model
    await model.mergeAdapter()
    expect(model.version).toBe(version)
    expect(model.weightsRevision).not.toBe(weightsRevision)
    expect(await model.checksum()).not.toBe(checksum)
    for (const [i, row] of (await logprobs(model)).entries()) expectClose(row, trained[i]!, 1e-5)
    await expect(model.score(given, { adapter: 'off' })).rejects.toThrow('cannot score without it')
    await expect(train(model)).rejects.toThrow('permanently and cannot be trained')
    await expect(base.copyFrom(model)).rejects.toThrow('so they differ from the weights it was trained with')
    // A merged model saved is a model of its own.
    await model.export(temporary(`merged-${family}`), { what: 'model' })
    const merged = await LocalModel.load(temporary(`merged-${family}`), { role: 'language' })
    for (const [i, row] of (await logprobs(merged)).entries()) expectClose(row, trained[i]!, 1e-5)

    // Once more adds nothing.
    const checksumMerged = await model.checksum()
    await model.mergeAdapter()
    expect(await model.checksum()).toBe(checksumMerged)
    for (const each of [base, model, merged]) each.dispose()
  })
})

test('gradients exist for the adapter only', async () => {
  const model = await actor()
  await model.forwardBackward(given, outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })))
  const gradients = model.gradients()
  const names = [...gradients.keys()]
  for (const gradient of gradients.values()) gradient.dispose()
  expect(names.sort()).toEqual([...model.adapter!.tensors().keys()].sort())
  expect(names).toHaveLength(2 * 2 * options.targets.length)
  model.dispose()
})

test('the reference is no second copy of the weights', async () => {
  const { bytes: before } = await heldMemory()
  const base = await LocalModel.create(tinyConfig('qwen2', { vocabSize: 4096 }), { role: 'language', seed: 1 })
  const alone = (await heldMemory()).bytes - before
  const model = await LocalModel.create(tinyConfig('qwen2', { vocabSize: 4096 }), {
    role: 'language',
    seed: 1,
    adapter: options,
  })
  await model.score(given, { adapter: 'off' })
  await model.score(given)
  expect((await heldMemory()).bytes - before - alone).toBeLessThan(1.5 * alone)
  model.dispose()
  base.dispose()
})

test('dropout works while training and never while scoring', async () => {
  const model = await actor('qwen2', { adapter: { ...options, dropout: 0.5 } })
  await train(model)
  expect(await logprobs(model)).toEqual(await logprobs(model))
  const seen: Float32Array[] = []
  for (let i = 0; i < 2; i++)
    await model.forwardBackward([given[0]!], outputs => {
      seen.push(outputs[0]!.logprobs)
      return [{}]
    })
  expect(seen[0]).not.toEqual(seen[1])
  model.dispose()
})

describe("PEFT's format", () => {
  test('written, it comes back bit for bit, with the same numbers', async () => {
    const model = await actor()
    await train(model)
    await model.export(temporary('adapter'), { what: 'adapter' })
    const back = await actor('qwen2', { adapter: temporary('adapter') })
    for (const [name, tensor] of model.adapter!.tensors())
      expect(back.adapter!.tensors().get(name)!.toArray(), name).toEqual(tensor.toArray())
    expect(await logprobs(back)).toEqual(await logprobs(model))
    const config = JSON.parse(readFileSync(join(temporary('adapter'), 'adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({
      peft_type: 'LORA',
      task_type: 'CAUSAL_LM',
      r: 4,
      lora_alpha: 8,
      target_modules: options.targets,
    })
    model.dispose()
    back.dispose()
  })

  test("PEFT's own file, read and written again, is the same file", async () => {
    const model = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: fixture('qwen2-lora') })
    await model.export(temporary('again'), { what: 'adapter' })
    const [ours, theirs] = await Promise.all(
      [temporary('again'), fixture('qwen2-lora')].map(dir =>
        SafetensorsFile.open(join(dir, 'adapter_model.safetensors')),
      ),
    )
    expect([...ours!.names].sort()).toEqual([...theirs!.names].sort())
    for (const name of theirs!.names) {
      const [a, b] = [await ours!.read(name), await theirs!.read(name)]
      expect(a.toArray(), name).toEqual(b.toArray())
      a.dispose()
      b.dispose()
    }
    await ours!.close()
    await theirs!.close()
    const read = (dir: string) => JSON.parse(readFileSync(join(dir, 'adapter_config.json'), 'utf8'))
    const before = read(fixture('qwen2-lora'))
    expect(read(temporary('again'))).toMatchObject({
      ...before,
      target_modules: expect.arrayContaining(before.target_modules),
    })
    const { sequence, token_logprobs } = readCase<{ sequence: number[]; token_logprobs: number[] }>('qwen2-lora')
    const back = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: temporary('again') })
    expectClose((await back.score([Int32Array.from(sequence)]))[0]!.logprobs, token_logprobs, 1e-4)
    model.dispose()
    back.dispose()
  })

  test('a reward model trains its head with the adapter, and both are saved', async () => {
    const create = (adapter: LoadOptions<'value'>['adapter']) =>
      LocalModel.load(fixture('qwen2'), { role: 'value', adapter: adapter! })
    const critic = await create(options)
    const backbone = await critic.checksum()
    for (let step = 0; step < 2; step++) {
      await critic.forwardBackward(given, outputs => outputs.map(({ values }) => ({ values: values.map(() => -1) })))
      await critic.step({ lr: 1e-2 })
    }
    expect(await critic.checksum()).not.toBe(backbone)
    const [scored] = await critic.score(given)
    expect(scored!.values[0]).toBeGreaterThan(0)
    await critic.export(temporary('critic-adapter'), { what: 'adapter' })
    const back = await create(temporary('critic-adapter'))
    expect(await back.score(given)).toEqual(await critic.score(given))
    critic.dispose()
    back.dispose()
  })

  test("rank-stabilised scaling, and the modules to save that PEFT writes for a reward model's adapter", async () => {
    const source = fixture('qwen2-lora')
    const directory = temporary('rslora')
    cpSync(source, directory, { recursive: true })
    const config = JSON.parse(readFileSync(join(source, 'adapter_config.json'), 'utf8'))
    // alpha / sqrt(r) as large as alpha / r was.
    const changed = {
      use_rslora: true,
      lora_alpha: config.lora_alpha / Math.sqrt(config.r),
      modules_to_save: ['classifier', 'score'],
    }
    writeFileSync(join(directory, 'adapter_config.json'), JSON.stringify({ ...config, ...changed }))
    const { sequence, token_logprobs } = readCase<{ sequence: number[]; token_logprobs: number[] }>('qwen2-lora')
    const model = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: directory })
    expectClose((await model.score([Int32Array.from(sequence)]))[0]!.logprobs, token_logprobs, 1e-4)
    model.dispose()
  })

  test('copyFrom takes the adapter too', async () => {
    const model = await actor()
    const other = await actor()
    await train(other)
    await model.copyFrom(other)
    expect(await logprobs(model)).toEqual(await logprobs(other))
    model.dispose()
    other.dispose()
  })

  const refused: [Record<string, unknown>, string | RegExp][] = [
    [{ peft_type: 'IA3' }, 'peft_type "IA3" is not supported; only LORA is'],
    [{ use_dora: true }, 'use_dora is not supported'],
    [{ use_qalora: true }, 'use_qalora is not supported'],
    [{ fan_in_fan_out: true }, 'fan_in_fan_out is not supported'],
    [{ bias: 'all' }, 'adapters with biases are not supported'],
    [{ lora_bias: true }, 'adapters with biases are not supported'],
    [{ rank_pattern: { q_proj: 2 } }, 'rank_pattern is not supported'],
    [{ alpha_pattern: { q_proj: 2 } }, 'alpha_pattern is not supported'],
    [{ modules_to_save: ['lm_head'] }, 'modules_to_save ["lm_head"] is not supported'],
    [{ layers_to_transform: [0] }, 'layers_to_transform is not supported'],
    [{ init_lora_weights: 'pissa' }, 'init_lora_weights "pissa" is not supported'],
    [{ target_modules: '.*proj' }, 'target_modules should be a list of module names, got ".*proj"'],
    [
      { target_modules: ['lm_head'] },
      'target module "lm_head" is not supported: adapters are only supported on the projections inside layers, not on the embedding or the output matrix; supported are q_proj',
    ],
    [{ target_modules: ['mlp'] }, 'target module "mlp" is not supported; supported are q_proj'],
    [{ r: 'four' }, 'r should be a positive integer, got "four"'],
    [{ lora_alpha: '8' }, 'lora_alpha should be a number, got "8"'],
    [{ lora_dropout: 1 }, 'lora_dropout should be a number in [0, 1), got 1'],
    [{ r: 3 }, /lora_A\.weight is \[4, 176\], expected \[3, 176\]/],
    [{ target_modules: ['q_proj'] }, 'the adapter has tensors that belong to no target module'],
    [
      { target_modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] },
      'the adapter has no',
    ],
  ]
  test.each(refused)('%j is refused, and nothing is left behind', async (fields, message) => {
    const source = fixture('qwen2-lora')
    const directory = temporary(`refused-${refused.findIndex(([one]) => one === fields)}`)
    mkdirSync(directory)
    cpSync(join(source, 'adapter_model.safetensors'), join(directory, 'adapter_model.safetensors'))
    const config = JSON.parse(readFileSync(join(source, 'adapter_config.json'), 'utf8'))
    writeFileSync(join(directory, 'adapter_config.json'), JSON.stringify({ ...config, ...fields }))
    const before = await heldMemory()
    await expect(LocalModel.load(fixture('qwen2'), { role: 'language', adapter: directory })).rejects.toThrow(message)
    await expectHeld(before)
  })
})

test.each([
  [{ rank: 0 }, "an adapter's rank is a positive integer, got 0"],
  [{ dropout: 1 }, "an adapter's dropout is in [0, 1), got 1"],
  [{ alpha: Number.NaN }, "an adapter's alpha is a number, got NaN"],
  [{ targets: [] }, 'an adapter needs at least one target module'],
  [{ targets: ['lm_head' as 'q_proj'] }, 'target module "lm_head" is not supported: adapters are only'],
])('a new adapter with %j is refused', async (fields, message) => {
  await expect(actor('qwen2', { adapter: { ...options, ...fields } })).rejects.toThrow(message)
})

test('without an adapter there is nothing to merge or save', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1 })
  await expect(model.mergeAdapter()).rejects.toThrow('this model has no adapter')
  await expect(model.export(temporary('none'), { what: 'adapter' })).rejects.toThrow('this model has no adapter')
  model.dispose()
})
