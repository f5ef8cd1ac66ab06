import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { planBatches } from '../../src/model/batch.js'
import { LocalModel, type ModelInput, parseConfig } from '../../src/model/index.js'
import type { Sequence } from '../../src/sequence/index.js'
import { SafetensorsFile, writeSafetensors } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { fresh } from '../support/files.js'
import { expectSameGradients, fixture, takeGradients, weights } from '../support/models.js'
import { readVisionCase, releasedSpelling, visionFamilies } from '../support/vision-models.js'

const isVision = (name: string): boolean => /^(model\.)?visual\./.test(name)

async function gradientsOf(
  model: LocalModel<'language'>,
  given: readonly ModelInput[],
  options: { packing?: 'on' | 'off'; offset?: number } = {},
) {
  const { offset = 0, packing = 'on' } = options
  await model.forwardBackward(
    given,
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]! + offset, logprobs.length) })),
    { packing },
  )
  return takeGradients(model)
}

describe.each(visionFamilies)('%s', async name => {
  const { directory, golden, sequences, responses } = await readVisionCase(name)
  const model = await LocalModel.load(directory, { role: 'language' })
  afterAll(() => model.dispose())
  const patches = (row: number) =>
    sequences[row]!.media.reduce((sum, { pixels: { grid } }) => sum + grid[0] * grid[1] * grid[2], 0)

  test('packed = padded = one by one, values and gradients', async () => {
    const packed = await model.score(sequences, { entropy: true })
    const padded = await model.score(sequences, { entropy: true, packing: 'off' })
    for (const [i, sequence] of sequences.entries()) {
      const [single] = await model.score([sequence], { entropy: true })
      for (const other of [packed[i]!, padded[i]!]) {
        expectClose(other.logprobs, single!.logprobs, 1e-5)
        expectClose(other.entropies!, single!.entropies!, 1e-5)
      }
    }
    for (const [i, sequence] of responses.entries()) {
      await model.forwardBackward([sequence], ([output]) => [{ logprobs: weights(i, output!.logprobs.length) }])
    }
    const alone = await takeGradients(model)
    for (const packing of ['on', 'off'] as const)
      expectSameGradients(await gradientsOf(model, responses, { packing }), alone, 1e-5)
  })

  test("a neighbour's image cannot be seen, and text has the bits it has without images", async () => {
    const [text, first, second, third] = [0, 1, 2, 5].map(i => responses[i]!) as [
      Sequence,
      Sequence,
      Sequence,
      Sequence,
    ]
    const changed = {
      ...second,
      media: second.media.map(({ pixels, runs }) => ({
        pixels: { ...pixels, hash: `${pixels.hash}, inverted`, frames: pixels.frames.map(value => 255 - value) },
        runs,
      })),
    }
    for (const packing of ['on', 'off'] as const) {
      const before = await model.score([text, first, second, third], { packing })
      const after = await model.score([text, first, changed, third], { packing })
      for (const i of [0, 1, 3]) expect(after[i], `${i}`).toEqual(before[i])
      expect(after[2]).not.toEqual(before[2])
    }
    expect(await model.score([text])).toEqual(await model.score([text.ids], { from: golden.rows[0]!.prompt_length }))
  })

  test('a batch of text does not touch the tower', async () => {
    const before = model.vision!.computedPatches
    const gradients = await gradientsOf(model, [responses[0]!])
    expect(model.vision!.computedPatches).toBe(before)
    expect([...gradients.keys()].filter(isVision)).toEqual([])
  })

  test('samples of a prompt share one pass of the tower, and its gradient is their sum', async () => {
    // Rows 1 and 6 are two answers to one prompt.
    const before = model.vision!.computedPatches
    const together = await gradientsOf(model, [responses[1]!, responses[6]!])
    expect(model.vision!.computedPatches - before).toBe(patches(1))
    await model.forwardBackward([responses[1]!], ([output]) => [{ logprobs: weights(0, output!.logprobs.length) }])
    await model.forwardBackward([responses[6]!], ([output]) => [{ logprobs: weights(1, output!.logprobs.length) }])
    expectSameGradients(together, await takeGradients(model), 1e-5)
  })

  test('the embedding of a placeholder gets no gradient', async () => {
    const gradients = await gradientsOf(model, responses)
    const [, table] = [...gradients].find(([key]) => key.endsWith('embed_tokens.weight'))!
    const { hidden, tiedEmbeddings } = model.config.decoder
    // A tied table also makes logits, and every row has a gradient by that way.
    if (tiedEmbeddings) return
    for (const id of [5, 6])
      expect(table.subarray(id * hidden, (id + 1) * hidden).every(value => value === 0)).toBe(true)
  })

  test('a frozen tower computes each image once; gradients are those of the whole', async () => {
    const whole = await gradientsOf(model, responses)
    const all = new Set(sequences.flatMap(({ media }) => media.map(({ pixels }) => pixels)))
    const total = [...all].reduce((sum, { grid }) => sum + grid[0] * grid[1] * grid[2], 0)
    for (const freezeVision of ['all', 'tower', 'merger'] as const) {
      const frozen = await LocalModel.load(directory, { role: 'language', freezeVision })
      const found = await gradientsOf(frozen, responses)
      const merger = /visual\.(merger|deepstack_merger_list)\./
      const trained = (key: string) =>
        !isVision(key) ||
        (freezeVision === 'tower' && merger.test(key)) ||
        (freezeVision === 'merger' && !merger.test(key))
      expectSameGradients(found, new Map([...whole].filter(([key]) => trained(key))), 1e-5)
      await frozen.forwardBackward(responses, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.01) })),
      )
      await frozen.step({ lr: 1e-3 })
      await frozen.score(sequences)
      if (freezeVision !== 'merger') expect(frozen.vision!.computedPatches).toBe(total)
      frozen.dispose()
    }
  })

  test('a trained tower is computed again after a step', async () => {
    const trained = await LocalModel.load(directory, { role: 'language' })
    const before = await trained.score([sequences[1]!])
    await trained.forwardBackward([responses[1]!], ([output]) => [
      { logprobs: new Float32Array(output!.logprobs.length).fill(-0.1) },
    ])
    await trained.step({ lr: 1e-2 })
    const [after] = await trained.score([sequences[1]!])
    const again = await LocalModel.load(directory, { role: 'language' })
    await again.copyFrom(trained)
    expect(after).not.toEqual(before[0])
    expect((await again.score([sequences[1]!]))[0]).toEqual(after)
    trained.dispose()
    again.dispose()
  })

  test('media and placeholders that do not fit are refused', async () => {
    const [, one, two] = sequences
    const refused = async (sequence: Sequence, why: RegExp) => expect(model.score([sequence])).rejects.toThrow(why)
    await refused({ ...one!, media: [] }, /placeholders, and media for 0/)
    await refused({ ...two!, media: two!.media.slice(1) }, /placeholders, and media for/)
    await refused({ ...sequences[0]!, media: one!.media }, /should be a placeholder of image/)
    const [item] = one!.media
    const short = { ...item!, runs: [{ ...item!.runs[0]!, count: item!.runs[0]!.count - 1 }] }
    await refused({ ...one!, media: [short] }, /has \d+ tokens, and its runs \d+/)
    const cut = { ...item!, pixels: { ...item!.pixels, frames: item!.pixels.frames.subarray(3) } }
    await refused({ ...one!, media: [cut] }, /not whole frames/)
  })

  test('values and scores of images; gradients reach the tower', async () => {
    for (const role of ['value', 'reward'] as const) {
      const headed = await LocalModel.load(directory, { role: role as 'reward', seed: 3 })
      const before = await headed.score(sequences)
      const [alone] = await headed.score([sequences[3]!])
      expectClose(numbersOf(alone!), numbersOf(before[3]!), 1e-5)
      const out = fresh(`${name}-${role}`)
      await headed.export(out, { what: 'model' })
      const read = await LocalModel.load(out, { role: role as 'reward' })
      expect(await read.score(sequences)).toEqual(before)
      if (role === 'reward') {
        await headed.forwardBackward(sequences, outputs => outputs.map(() => ({ score: 1 })))
        const gradients = await takeGradients(headed)
        expect([...gradients.keys()].some(isVision)).toBe(true)
      }
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

test('batches have a budget of patches; what sequences have in common counts once', () => {
  const of = (i: number) => [{ hash: `${Math.floor(i / 2)}`, patches: 40 }]
  const plans = planBatches([9, 9, 9, 9, 9, 9], { tokenBudget: 1000, packing: 'on', patches: { budget: 80, of } })
  expect(plans.map(({ sequences }) => sequences)).toEqual([
    [0, 1, 2, 3],
    [4, 5],
  ])
  const alone = planBatches([9, 9, 9], {
    tokenBudget: 1000,
    packing: 'on',
    patches: { budget: 10, of: i => of(2 * i) },
  })
  expect(alone.map(({ sequences }) => sequences)).toEqual([[0], [1], [2]])
})
