import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parameterCount, weightMap } from '../../src/decoder/index.js'
import { families, ModelError, newConfig, parseConfig, readConfig, sizes } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'
import { fixture } from '../support/models.js'

const raw = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(`${fixture(name)}/config.json`, 'utf8')) as Record<string, unknown>
const parse = (name: string, fields: Record<string, unknown> = {}) =>
  parseConfig({ ...raw(name), ...fields }, 'config.json')

describe('a field that would change the numbers and is not implemented is refused', () => {
  const refused: [string, Record<string, unknown>, string | RegExp][] = [
    ['qwen2', { quantization_config: { bits: 4 } }, 'quantised weights (quantization_config) are not supported'],
    ['qwen2', { hidden_act: 'gelu' }, 'hidden_act "gelu" is not supported; only silu is'],
    ['llama', { mlp_bias: true }, 'mlp_bias is not supported'],
    ['llama', { attention_dropout: 0.1 }, 'attention_dropout above 0 is not supported'],
    ['mistral', { sliding_window: 128 }, 'a sliding window (128) shorter than the context (256) is not supported'],
    ['mistral', { sliding_window: 128, use_sliding_window: false }, 'a sliding window (128)'],
    ['mistral', { sliding_window: undefined, max_position_embeddings: 8192 }, 'a sliding window (4096)'],
    ['qwen2', { sliding_window: 128, use_sliding_window: true }, 'a sliding window (128)'],
    ['qwen3', { layer_types: ['chunked_attention'] }, 'attention type "chunked_attention" in layer_types'],
    ['llama', { rope_parameters: { rope_type: 'yarn', rope_theta: 1e4 } }, 'rope type "yarn" is not supported'],
    ['llama', { rope_parameters: undefined, rope_scaling: { type: 'linear', factor: 2 } }, 'rope type "linear"'],
    ['llama', { rope_parameters: { rope_type: 'llama3' } }, 'llama3 rope scaling needs factor'],
    ['llama', { rope_parameters: { rope_theta: -1 } }, 'rope_theta should be a positive number, got -1'],
    ['qwen2', { num_key_value_heads: 3 }, 'num_attention_heads (4) is not a multiple of num_key_value_heads (3)'],
    ['qwen2', { head_dim: 15 }, 'the head dimension should be an even integer, got 15'],
    [
      'qwen2',
      { num_attention_heads: 3, num_key_value_heads: 3 },
      /head dimension should be an even integer, got 21\.3/,
    ],
    ['qwen2', { hidden_size: '64' }, 'hidden_size should be a positive integer, got "64"'],
    ['qwen2', { vocab_size: undefined }, 'vocab_size should be a positive integer, got undefined'],
    ['qwen2', { rms_norm_eps: 'small' }, 'rms_norm_eps should be a number, got "small"'],
    ['qwen2', { tie_word_embeddings: 'yes' }, 'tie_word_embeddings should be true or false, got "yes"'],
    ['qwen2-reward', { id2label: { 0: 'bad', 1: 'good' } }, 'a reward or value model has one label, this one has 2'],
  ]
  test.each(refused)('%s with %j', (name, fields, message) => {
    expect(() => parse(name, fields)).toThrow(ModelError)
    expect(() => parse(name, fields)).toThrow(message)
  })

  test('another architecture is named, beside those that are supported', () => {
    expect(() => parse('qwen2', { architectures: ['GPT2LMHeadModel'] })).toThrow(
      'config.json: architecture "GPT2LMHeadModel" is not supported; supported are LlamaForCausalLM, ' +
        'LlamaForSequenceClassification, MistralForCausalLM, MistralForSequenceClassification, Olmo2ForCausalLM, ' +
        'Olmo2ForSequenceClassification, Qwen2ForCausalLM, Qwen2ForSequenceClassification, Qwen3ForCausalLM, ' +
        'Qwen3ForSequenceClassification, SmolLM3ForCausalLM, SmolLM3ForSequenceClassification',
    )
    expect(() => parseConfig({ model_type: 'gemma' }, 'config.json')).toThrow(
      'config.json: "architectures" is missing, so the kind of the model is unknown (model_type is "gemma"); supported are Llama',
    )
    expect(() => parse('qwen2', { architectures: [] })).toThrow('"architectures" is missing')
  })
})

test('a long value is shown by its beginning', () => {
  const message = (fields: Record<string, unknown>): string => {
    try {
      parse('qwen2', fields)
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const long = 'x'.repeat(1e6)
  expect(message({ hidden_act: long })).toMatch(/^config\.json: hidden_act "x{99}\.\.\. is not supported/)
  for (const field of ['hidden_size', 'architectures', 'model_type', 'rope_scaling'])
    expect(message({ [field]: long }).length).toBeLessThan(300)
})

test('what changes nothing is accepted', () => {
  expect(parse('mistral', { sliding_window: 4096 }).decoder.context).toBe(256)
  expect(parse('qwen2', { sliding_window: 128, use_sliding_window: undefined }).decoder.family).toBe('qwen2')
  const before = raw('llama31rope')
  const { rope_theta, ...scaling } = before.rope_parameters as Record<string, unknown>
  // As transformers wrote it before version 5.
  const older = parse('llama31rope', { rope_parameters: undefined, rope_theta, rope_scaling: scaling })
  expect(older.decoder).toEqual(parse('llama31rope').decoder)
  expect(older.decoder.ropeScaling).toBeDefined()
})

test.each(families)('a new config reads as what was asked for: %s', family => {
  const { decoder, head } = newConfig(family, { ...sizes['2m'], vocabSize: 4096 }, { eos: 2, pad: 0 })
  expect(head).toBe('language')
  expect(decoder).toMatchObject({ family, hidden: 128, heads: 4, kvHeads: 2, headDim: 32, vocabSize: 4096 })
  const qkNorm = { qwen3: 'head', olmo2: 'projection' }[family as string] ?? 'none'
  expect(decoder).toMatchObject({ qkvBias: family === 'qwen2', qkNorm, initRange: 0.02 })
  expect(decoder.norms).toBe(family === 'olmo2' ? 'after' : 'before')
  expect(decoder.ropeLayers).toEqual(family === 'smollm3' ? [true, true, true, false, true, true] : 'all')
})

test('sizes are what they are called', () => {
  const count = (size: keyof typeof sizes, vocabSize: number) =>
    parameterCount(weightMap(newConfig('qwen2', { ...sizes[size], vocabSize }).decoder, 'language'))
  expect(count('2m', 4096) / 1e6).toBeCloseTo(2.0, 1)
  expect(count('26m', 8192) / 1e6).toBeCloseTo(25.8, 1)
  // Qwen2.5-0.5B and 1.5B as published.
  expect(count('0.5b', 151_936)).toBe(494_032_768)
  expect(count('1.5b', 151_936)).toBe(1_543_714_304)
})

test('what is around models is no model, and its models are named', async () => {
  const run = temporaryDirectory()
  for (const name of ['best_model', 'final_model']) {
    mkdirSync(join(run, name))
    writeFileSync(join(run, name, 'model.safetensors'), '')
  }
  const message = `${run} is no model; it holds models: did you mean ${run}/best_model or ${run}/final_model?`
  await expect(Tokenizer.load(run)).rejects.toThrow(message)
  writeFileSync(join(run, 'config.json'), '{"command":"sft"}')
  await expect(readConfig(run)).rejects.toThrow(message)
  await expect(Tokenizer.load(join(run, 'none'))).rejects.toThrow(`not found; ${run}/none does not exist`)
})
