import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportGguf, GgufFile, importGguf } from '../../src/gguf/index.js'
import { families, initModel, LocalModel, newConfig, readConfig } from '../../src/model/index.js'
import type { DType } from '../../src/tensor/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { checksumsOf } from '../support/checksums.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { fixture, temporary } from '../support/models.js'

const tokenizer = fixture('eos-pad')

/** A random model with rows that blocks fit into. */
async function made(name: string, family: (typeof families)[number], dtype: DType, vocabSize = 272): Promise<string> {
  const out = temporary(name)
  const shape = { hidden: 64, intermediate: 96, layers: 4, heads: 4, kvHeads: 2, headDim: 16, context: 64 }
  const config = newConfig(family, { ...shape, tied: family === 'qwen2', vocabSize }, { bos: 1, eos: 2, pad: 0 })
  await initModel({ config, seed: 3, dtype, tokenizer, tokens: { bos: 1, eos: 2, pad: 0 }, out })
  return out
}

const pairs = [
  ['float32', 'f32'],
  ['float16', 'f16'],
  ['bfloat16', 'bf16'],
] as const

// Names and shapes depend on the family alone, bits on the dtype alone.
test.each(families.map((family, i) => [family, ...pairs[i % 3]!] as const))(
  'a %s of %s comes back from %s bit for bit',
  async (family, dtype, type) => {
    const source = await made(`${family}-${dtype}`, family, dtype)
    const before = await heldMemory()
    const file = temporary(`${family}-${type}.gguf`)
    const exported = await exportGguf(source, { out: file, type })
    expect(exported).toMatchObject({ type, notes: [] })
    const back = temporary(`${family}-${type}-back`)
    expect(await importGguf(file, { out: back })).toMatchObject({ dtype, parameters: exported.parameters })
    await expectHeld(before)
    expect(await checksumsOf(back)).toEqual(await checksumsOf(source))
    const [first, second] = [await readConfig(source), await readConfig(back)]
    // llama.cpp takes a Mistral for a Llama; the numbers are the same.
    const own = family === 'mistral' ? 'llama' : family
    expect(second.decoder).toEqual({ ...first.decoder, family: own })
  },
)

test('the scores of an imported Mistral are those of the Mistral', async () => {
  const source = await made('mistral-scores', 'mistral', 'float32')
  const file = temporary('mistral-scores.gguf')
  await exportGguf(source, { out: file, type: 'f32' })
  const back = temporary('mistral-scores-back')
  await importGguf(file, { out: back })
  const ids = Int32Array.from([5, 99, 43, 210, 7, 88])
  const scores = await Promise.all(
    [source, back].map(async directory => {
      const model = await LocalModel.load(directory, { role: 'language' })
      const [scored] = await model.score([ids])
      model.dispose()
      return [...scored!.logprobs]
    }),
  )
  expect(scores[1]).toEqual(scores[0])
})

test('rope scaling, ids and texts survive', async () => {
  const source = temporary('llama31rope')
  await cp(fixture('llama31rope'), source, { recursive: true })
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    await cp(join(tokenizer, name), join(source, name))
  const file = temporary('rope.gguf')
  await exportGguf(source, { out: file, type: 'f32' })
  const back = temporary('rope-back')
  await importGguf(file, { out: back })
  const { initRange: _, ...original } = (await readConfig(source)).decoder
  expect((await readConfig(back)).decoder).toMatchObject(original)
  const [first, second] = [await Tokenizer.load(source), await Tokenizer.load(back)]
  expect(second).toMatchObject({
    bosId: first.bosId,
    eosId: first.eosId,
    padId: first.padId,
    vocabSize: first.vocabSize,
  })
  expect(await readFile(join(back, 'chat_template.jinja'), 'utf8')).toBe(
    await readFile(join(source, 'chat_template.jinja'), 'utf8'),
  )
})

describe('what is written', () => {
  test('norms stay float32, matrices are quantised, and the output of a q4_0 file is q8_0', async () => {
    const source = await made('types', 'qwen2', 'bfloat16')
    const file = temporary('types.gguf')
    expect(await exportGguf(source, { out: file, type: 'q4_0', name: 'mine' })).toMatchObject({ notes: [] })
    await using opened = await GgufFile.open(file)
    const types = Object.fromEntries(opened.names.map(name => [name.replace(/\d+/, 'N'), opened.info(name)!.type]))
    expect(types).toMatchObject({
      'token_embd.weight': 'q8_0',
      'output_norm.weight': 'f32',
      'blk.N.attn_norm.weight': 'f32',
      'blk.N.attn_q.weight': 'q4_0',
      'blk.N.attn_q.bias': 'f32',
      'blk.N.ffn_down.weight': 'q4_0',
    })
    expect(Object.fromEntries([...opened.metadata].filter(([, value]) => !Array.isArray(value)))).toMatchObject({
      'general.architecture': 'qwen2',
      'general.name': 'mine',
      'general.file_type': 2,
      'general.quantization_version': 2,
      'qwen2.block_count': 4,
      'qwen2.context_length': 64,
      'qwen2.embedding_length': 64,
      'qwen2.feed_forward_length': 96,
      'qwen2.attention.head_count': 4,
      'qwen2.attention.head_count_kv': 2,
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'gpt-2',
      'tokenizer.ggml.eos_token_id': 2,
      'tokenizer.ggml.add_bos_token': false,
    })
    expect(opened.metadata.get('tokenizer.ggml.tokens')).toHaveLength(272)
  })

  test('rows that blocks do not fit into are f16, with a word', async () => {
    const source = await made('narrow', 'llama', 'float32')
    const config = JSON.parse(await readFile(join(source, 'config.json'), 'utf8')) as Record<string, unknown>
    const out = temporary('narrow-model')
    const shape = {
      hidden: 32,
      intermediate: 48,
      layers: 1,
      heads: 2,
      kvHeads: 2,
      headDim: 16,
      context: 64,
      tied: true,
    }
    const small = newConfig('llama', { ...shape, vocabSize: 272 }, {})
    await initModel({ config: small, seed: 1, dtype: 'float32', tokenizer, tokens: {}, out })
    const { notes } = await exportGguf(out, { out: temporary('narrow.gguf'), type: 'q8_0' })
    expect(notes).toEqual(['1 tensors are f16: their rows are no multiple of 32 numbers (blk.0.ffn_down.weight)'])
    expect(config.model_type).toBe('llama')
  })

  test('a bfloat16 checkpoint becomes bf16, others f16, where no type is given', async () => {
    for (const [dtype, type] of [
      ['bfloat16', 'bf16'],
      ['float32', 'f16'],
    ] as const) {
      const source = await made(`default-${dtype}`, 'llama', dtype)
      expect(await exportGguf(source, { out: temporary(`default-${dtype}.gguf`) })).toMatchObject({ type })
    }
  })
})

describe('refused', () => {
  test('a reward model, with the reason', async () => {
    await expect(exportGguf(fixture('qwen2-reward'), { out: temporary('reward.gguf') })).rejects.toThrow(
      /reward or value model/,
    )
  })

  test('layers without rotation that llama.cpp does not have', async () => {
    await expect(exportGguf(fixture('smollm3'), { out: temporary('smollm3.gguf') })).rejects.toThrow(
      /every 4th layer.*no_rope_layers/,
    )
  })

  test('biases that llama.cpp does not read', async () => {
    const source = await made('biases', 'qwen3', 'float32')
    const path = join(source, 'config.json')
    const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
    await writeFile(path, JSON.stringify({ ...config, attention_bias: true }))
    await expect(exportGguf(source, { out: temporary('biases.gguf') })).rejects.toThrow(/no biases in attention/)
  })

  test('a model without a tokenizer', async () => {
    await expect(exportGguf(fixture('llama'), { out: temporary('none.gguf') })).rejects.toThrow(
      /tokenizer.json: not found/,
    )
  })

  test('a tokenizer whose patterns have no name', async () => {
    const source = await made('patterns', 'llama', 'float32')
    const path = join(source, 'tokenizer.json')
    const json = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
    const split = { type: 'Split', pattern: { Regex: 'x+|[^x]+' }, behavior: 'Isolated', invert: false }
    const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
    await writeFile(
      path,
      JSON.stringify({ ...json, pre_tokenizer: { type: 'Sequence', pretokenizers: [split, level] } }),
    )
    await expect(exportGguf(source, { out: temporary('patterns.gguf') })).rejects.toThrow(/tokenizer\.ggml\.pre/)
  })
})
