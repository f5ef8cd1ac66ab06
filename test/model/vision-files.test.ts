import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LocalModel, parseConfig } from '../../src/model/index.js'
import type { Sequence } from '../../src/sequence/index.js'
import { SafetensorsFile, writeSafetensors } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { fresh } from '../support/files.js'
import { expectSameGradients, fixture, takeGradients } from '../support/models.js'
import { readVisionCase, releasedSpelling, visionFamilies } from '../support/vision-models.js'

const isVision = (name: string): boolean => /^(model\.)?visual\./.test(name)

describe.each(visionFamilies)('%s', async name => {
  const { directory, sequences, responses } = await readVisionCase(name)

  test('values and scores of images and videos: packed = padded = alone; gradients reach the tower', async () => {
    for (const role of ['value', 'reward'] as const) {
      // Both roles have the same methods.
      const headed = (await LocalModel.load(directory, { role: role as 'value', seed: 3 })) as LocalModel<'value'>
      const gradientsOf = async (given: readonly Sequence[], packing: 'on' | 'off' = 'on') => {
        await headed.forwardBackward(
          given,
          outputs => outputs.map(({ values }) => (values ? { values: values.map(() => 1) } : ({ score: 1 } as never))),
          { packing },
        )
        return takeGradients(headed as never)
      }
      // A critic starts at zero, and its tower without a gradient.
      await headed.forwardBackward(responses, outputs =>
        outputs.map(({ values }) => (values ? { values: values.map(() => -1) } : ({ score: -1 } as never))),
      )
      await headed.step({ lr: 1e-2 })
      const before = await headed.score(sequences)
      const padded = await headed.score(sequences, { packing: 'off' })
      for (const [i, sequence] of sequences.entries()) {
        const [alone] = await headed.score([sequence])
        expect(Math.max(...numbersOf(alone!).map(Math.abs))).toBeGreaterThan(1e-3)
        for (const other of [before[i]!, padded[i]!]) expectClose(numbersOf(alone!), numbersOf(other), 1e-5)
      }
      const gradients = await gradientsOf(sequences)
      expect([...gradients.keys()].some(isVision)).toBe(true)
      expectSameGradients(await gradientsOf(sequences, 'off'), gradients, 1e-5)
      // Of a video alone.
      const [, largest] = [...(await gradientsOf([sequences[4]!]))].find(([key]) =>
        key.endsWith('patch_embed.proj.weight'),
      )!
      expect(largest.some(value => value !== 0)).toBe(true)
      const out = fresh(`${name}-${role}`)
      await headed.export(out, { what: 'model' })
      const read = await LocalModel.load(out, { role: role as 'value' })
      expect(await read.score(sequences)).toEqual(before)
      headed.dispose()
      read.dispose()
    }
  })

  test('an adapter changes the language layers alone, and comes back from its files', async () => {
    const adapter = { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj', 'gate_proj'] as const, seed: 1 }
    const adapted = await LocalModel.load(directory, { role: 'language', adapter })
    await adapted.forwardBackward(responses, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.1) })),
    )
    await adapted.step({ lr: 1e-2 })
    const out = fresh(`${name}-adapter`)
    await adapted.export(out, { what: 'adapter' })
    const file = await SafetensorsFile.open(join(out, 'adapter_model.safetensors'))
    expect(file.names.every(one => one.startsWith('base_model.model.model.language_model.layers.'))).toBe(true)
    await file.close()
    expect(JSON.parse(readFileSync(join(out, 'adapter_config.json'), 'utf8')).exclude_modules).toBe('.*visual.*')
    const read = await LocalModel.load(directory, { role: 'language', adapter: out })
    expect(await read.score(sequences)).toEqual(await adapted.score(sequences))
    adapted.dispose()
    read.dispose()
  })

  test('an export keeps spelling, names and processor files; other names of the same weights give the same numbers', async () => {
    const source = releasedSpelling(name)
    const released = await LocalModel.load(source, { role: 'language' })
    const out = fresh(`${name}-export`)
    await released.export(out, { what: 'model' })
    for (const file of ['preprocessor_config.json', 'video_preprocessor_config.json'])
      expect(readFileSync(join(out, file), 'utf8')).toBe(readFileSync(join(source, file), 'utf8'))
    const { torch_dtype: _, ...raw } = JSON.parse(readFileSync(join(source, 'config.json'), 'utf8'))
    expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'))).toEqual({ ...raw, dtype: 'float32' })
    const [mine, theirs] = await Promise.all(
      [out, source].map(path => SafetensorsFile.open(join(path, 'model.safetensors'))),
    )
    expect([...mine!.names].sort()).toEqual([...theirs!.names].sort())

    const renamed = fresh(`${name}-renamed`)
    await released.export(renamed, { what: 'model' })
    const tensors = new Map(
      await Promise.all(mine!.names.map(async key => [otherName(key), await mine!.read(key)] as const)),
    )
    await writeSafetensors(join(renamed, 'model.safetensors'), tensors)
    const other = await LocalModel.load(renamed, { role: 'language' })
    const expected = await released.score(sequences)
    expect(await other.score(sequences)).toEqual(expected)
    await other.loadWeights(source)
    expect(await other.score(sequences)).toEqual(expected)
    const back = fresh(`${name}-back`)
    await other.export(back, { what: 'model' })
    const again = await SafetensorsFile.open(join(back, 'model.safetensors'))
    expect([...again.names].sort()).toEqual([...tensors.keys()].sort())
    for (const file of [mine!, theirs!, again]) await file.close()
    released.dispose()
    other.dispose()
  })

  test('fields that are missing, or would change the numbers, are refused', () => {
    const raw = JSON.parse(readFileSync(join(fixture(name), 'config.json'), 'utf8'))
    const refuses = (change: (raw: Record<string, Record<string, unknown>>) => void, why: RegExp) => {
      const copy = structuredClone(raw)
      change(copy)
      expect(() => parseConfig(copy, 'config.json')).toThrow(why)
    }
    const required = Object.keys(raw.vision_config).filter(
      key => !['in_channels', 'initializer_range', 'model_type', 'rope_parameters'].includes(key),
    )
    for (const key of required)
      refuses(({ vision_config }) => delete vision_config![key], new RegExp(`vision_config.*${key}`))
    for (const key of ['image_token_id', 'vision_config']) refuses(copy => delete copy[key], new RegExp(key))
    for (const key of ['num_key_value_heads', 'rms_norm_eps'])
      refuses(({ text_config }) => delete text_config![key], new RegExp(`${key} is missing`))
    refuses(({ text_config }) => delete text_config!.rope_parameters, /mrope_section/)
    refuses(({ vision_config }) => (vision_config!.hidden_act = 'relu'), /hidden_act "relu"/)
    refuses(({ vision_config }) => (vision_config!.in_channels = 4), /4 channels/)
    const moe = { ...raw, architectures: ['Qwen3VLMoeForConditionalGeneration'], model_type: 'qwen3_vl_moe' }
    expect(() => parseConfig(moe, 'config.json')).toThrow(/"Qwen3VLMoeForConditionalGeneration" is not supported/)
  })
})

describe('states, and models of random weights', async () => {
  const name = 'qwen3_vl'
  const { directory, golden, sequences, responses } = await readVisionCase(name)

  test('a state goes on where it was, and not with another part frozen', async () => {
    const out = fresh(`${name}-state`)
    const train = async (one: LocalModel<'language'>) => {
      await one.forwardBackward(responses, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.01) })),
      )
      await one.step({ lr: 1e-3 })
    }
    const load = (freezeVision?: 'tower') =>
      LocalModel.load(directory, { role: 'language', ...(freezeVision && { freezeVision }) })
    const first = await load('tower')
    await train(first)
    await first.saveState(out)
    await train(first)
    const second = await load('tower')
    await second.loadState(out)
    await train(second)
    expect(await second.checksum()).toBe(await first.checksum())
    const other = await load()
    await expect(other.loadState(out)).rejects.toThrow(/freezeVision is "tower"/)
    for (const one of [first, second, other]) one.dispose()
  })

  test('a model of random weights, and one in bfloat16, read images', async () => {
    const raw = JSON.parse(readFileSync(join(fixture(name), 'config.json'), 'utf8'))
    const made = await LocalModel.create(parseConfig(raw, 'config.json'), {
      role: 'language',
      seed: 1,
      texts: directory,
    })
    const out = fresh(`${name}-made`)
    await made.export(out, { what: 'model' })
    const read = await LocalModel.load(out, { role: 'language' })
    expect(await read.score(sequences)).toEqual(await made.score(sequences))
    const narrow = await LocalModel.load(directory, { role: 'language', dtype: 'bfloat16' })
    const scores = await narrow.score(sequences)
    for (const [i, { logprobs }] of scores.entries()) expectClose(logprobs, golden.rows[i]!.token_logprobs, 0.5)
    for (const one of [made, read, narrow]) one.dispose()
  })
})

const numbersOf = (output: object): number[] =>
  Object.values(output as Record<string, number | Float32Array>).flatMap(value =>
    typeof value === 'number' ? [value] : [...value],
  )

/** The other of the two names that a tensor may have. */
function otherName(name: string): string {
  if (name.startsWith('model.language_model.')) return name.replace('model.language_model.', 'model.')
  if (name.startsWith('model.visual.')) return name.replace('model.visual.', 'visual.')
  return name.replace(/^model\./, 'model.language_model.').replace(/^visual\./, 'model.visual.')
}

test('an adapter on the tower, and a directory without a processor, are refused', async () => {
  const source = releasedSpelling('qwen2_5_vl')
  const adapted = await LocalModel.load(source, {
    role: 'language',
    adapter: { rank: 1, alpha: 1, dropout: 0, targets: ['gate_proj'], seed: 1 },
  })
  const out = fresh('tower-adapter')
  await adapted.export(out, { what: 'adapter' })
  adapted.dispose()
  const path = join(out, 'adapter_model.safetensors')
  const file = await SafetensorsFile.open(path)
  const tensors = new Map(await Promise.all(file.names.map(async key => [key, await file.read(key)] as const)))
  const [first] = tensors.values()
  tensors.set('base_model.model.model.visual.blocks.0.mlp.gate_proj.lora_A.weight', first!)
  await file.close()
  await writeSafetensors(path, tensors)
  await expect(LocalModel.load(source, { role: 'language', adapter: out })).rejects.toThrow(/changes the vision tower/)
  expect(readdirSync(out)).toContain('adapter_config.json')
  writeFileSync(join(source, 'preprocessor_config.json'), '{')
  await expect(LocalModel.load(source, { role: 'language' })).rejects.toThrow(/not JSON/)
})
