/**
 * Files that contradict themselves, or the checkpoint beside them: for each field that is read, either what transformers does
 * or a refusal, never a silent third thing.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LocalModel, newConfig, parseConfig, sizes } from '../../src/model/index.js'
import { LocalEngine } from '../../src/rollout/index.js'
import { Checkpoint, noGrad, type Tensor, writeSafetensors } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { fixture, readCase, temporary } from '../support/models.js'

type Fields = Record<string, unknown>

const raw = (name: string): Fields => JSON.parse(readFileSync(`${fixture(name)}/config.json`, 'utf8')) as Fields
const parse = (name: string, fields: Fields) => parseConfig({ ...raw(name), ...fields }, 'config.json').decoder

/** A copy of a fixture whose config has other fields. */
function directory(name: string, label: string, fields: Fields): string {
  const path = temporary(label)
  cpSync(fixture(name), path, { recursive: true })
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...raw(name), ...fields }))
  return path
}

describe('two fields for one thing', () => {
  const llama3 = {
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  }

  test('rope_scaling wins over rope_parameters, whole, unless it is empty', () => {
    const both = { rope_parameters: { rope_type: 'default', rope_theta: 500000 }, rope_scaling: llama3 }
    expect(parse('llama', both).ropeScaling).toMatchObject({ factor: 8, originalContext: 64 })
    // The other's theta is not looked at: 10000 is the default, unless one stands alone.
    expect(parse('llama', both).ropeTheta).toBe(10000)
    expect(parse('llama', { ...both, rope_theta: 77 }).ropeTheta).toBe(77)
    for (const empty of [{}, null, undefined]) {
      const { ropeTheta, ropeScaling } = parse('llama', { ...both, rope_scaling: empty })
      expect({ ropeTheta, ropeScaling }).toEqual({ ropeTheta: 500000, ropeScaling: undefined })
    }
  })

  test('rope_theta inside rope_parameters wins over the one that stands alone, and that over the default', () => {
    expect(parse('llama', { rope_parameters: { rope_theta: 5 }, rope_theta: 7 }).ropeTheta).toBe(5)
    expect(parse('llama', { rope_parameters: {}, rope_theta: 7 }).ropeTheta).toBe(7)
    expect(parse('llama', { rope_parameters: undefined }).ropeTheta).toBe(10000)
    expect(parse('smollm3', { rope_parameters: undefined }).ropeTheta).toBe(2000000)
  })

  test('rope_type wins over its old name, type', () => {
    expect(parse('llama', { rope_parameters: { ...llama3, type: 'yarn' } }).ropeScaling).toBeDefined()
    expect(() => parse('llama', { rope_parameters: { type: 'yarn' } })).toThrow('rope type "yarn"')
  })

  test.each([
    [
      { rope_parameters: { rope_theta: 1e4, partial_rotary_factor: 0.5 } },
      'partial_rotary_factor 0.5 is not supported',
    ],
    [{ partial_rotary_factor: 0.5 }, 'partial_rotary_factor 0.5 is not supported'],
    [{ rope_parameters: { full_attention: { rope_theta: 1e4 } } }, 'rope_parameters by kind of layer (full_attention)'],
    [{ rope_parameters: 'llama3' }, 'rope_parameters should be an object, got "llama3"'],
  ])('%j is refused', (fields, message) => {
    expect(() => parse('llama', fields)).toThrow(message)
  })

  test('head_dim wins over hidden_size / num_attention_heads', () => {
    expect(parse('qwen2', { head_dim: 32 }).headDim).toBe(32)
    expect(parse('qwen2', { head_dim: null }).headDim).toBe(16)
    expect(parse('qwen3', { head_dim: undefined }).headDim).toBe(128)
  })

  test('num_key_value_heads: null means as many as heads, nothing the default of the family', () => {
    expect(parse('qwen2', { num_key_value_heads: null }).kvHeads).toBe(4)
    expect(parse('llama', { num_key_value_heads: undefined }).kvHeads).toBe(4)
    expect(parse('smollm3', { num_key_value_heads: undefined }).kvHeads).toBe(4)
    expect(() => parse('mistral', { num_key_value_heads: undefined })).toThrow('num_key_value_heads (8)')
    expect(() => parse('qwen2', { num_key_value_heads: undefined })).toThrow('num_key_value_heads (32)')
  })

  test('architectures and model_type name one family', () => {
    expect(() => parse('qwen2', { model_type: 'llama' })).toThrow(
      'config.json: architectures says Qwen2ForCausalLM, model_type "llama"; a Qwen2ForCausalLM has "qwen2"',
    )
    expect(parse('qwen2', { model_type: undefined }).family).toBe('qwen2')
    expect(() => parse('qwen2', { architectures: 'Qwen2ForCausalLM' })).toThrow('architectures should be a list')
  })

  test('layer_types has an entry for each layer', () => {
    expect(() => parse('qwen3', { layer_types: ['full_attention'] })).toThrow('layer_types has 1 entries for 3 layers')
  })

  test('no_rope_layers wins over no_rope_layer_interval; 1 means that the layer rotates', () => {
    const given = { no_rope_layers: [0, 1, 1, 0], no_rope_layer_interval: 2 }
    expect(parse('smollm3', given).ropeLayers).toEqual([false, true, true, false])
    expect(parse('smollm3', { ...given, no_rope_layers: null }).ropeLayers).toEqual([true, false, true, false])
    const neither = { no_rope_layers: undefined, no_rope_layer_interval: undefined }
    expect(parse('smollm3', neither).ropeLayers).toEqual([true, true, true, false])
    expect(() => parse('smollm3', { no_rope_layers: [1, 0] })).toThrow('no_rope_layers has 2 entries for 4 layers')
    expect(() => parse('smollm3', { no_rope_layers: [1, 2, 1, 1] })).toThrow(
      'no_rope_layers[1] should be 0 or 1, got 2',
    )
    // No other family has the fields.
    expect(parse('llama', given).ropeLayers).toBe('all')
  })

  test('id2label wins over num_labels', () => {
    expect(parse('qwen2-reward', { num_labels: 2 }).family).toBe('qwen2')
    expect(() => parse('qwen2-reward', { num_labels: 1, id2label: { 0: 'a', 1: 'b' } })).toThrow('this one has 2')
  })

  test('swish is another name of silu', () => {
    expect(parse('qwen2', { hidden_act: 'swish' })).toEqual(parse('qwen2', {}))
  })

  test('the dtype of a file is not that of a model: neither dtype nor torch_dtype is read', async () => {
    expect(parse('qwen2', { dtype: 'float16', torch_dtype: 'bfloat16' })).toEqual(parse('qwen2', {}))
    const model = await LocalModel.load(directory('qwen2', 'dtypes', { torch_dtype: 'bfloat16', dtype: 'float16' }))
    expect(model.dtype).toBe('float32')
    model.dispose()
  })

  test('what a family does not have is what transformers takes for it', () => {
    expect(parse('olmo2', { rms_norm_eps: undefined }).normEps).toBe(1e-5)
    expect(parse('llama', { rms_norm_eps: undefined }).normEps).toBe(1e-6)
    expect(parse('smollm3', { tie_word_embeddings: undefined }).tiedEmbeddings).toBe(true)
    expect(parse('olmo2', { tie_word_embeddings: undefined }).tiedEmbeddings).toBe(false)
  })
})

describe('a config and its checkpoint', () => {
  test.each([
    ['vocab_size', { vocab_size: 321 }, 'model.embed_tokens.weight is [320, 64], expected [321, 64]'],
    ['hidden_size', { hidden_size: 128, head_dim: 16 }, 'model.embed_tokens.weight is [320, 64], expected [320, 128]'],
    ['intermediate_size', { intermediate_size: 88 }, 'mlp.gate_proj.weight is [176, 64], expected [88, 64]'],
    ['num_key_value_heads', { num_key_value_heads: 4 }, 'self_attn.k_proj.weight is [32, 64], expected [64, 64]'],
    ['fewer layers', { num_hidden_layers: 2, layer_types: null }, 'unexpected: model.layers.2.'],
    [
      'more layers',
      { num_hidden_layers: 4, layer_types: null },
      'config.json says 4 layers (num_hidden_layers), the checkpoint has 3',
    ],
    ['an output matrix that is not there', { tie_word_embeddings: false }, 'missing: lm_head.weight'],
    [
      'biases that are not there',
      { architectures: ['LlamaForCausalLM'], model_type: 'llama' },
      'unexpected: model.layers.0.self_attn.k_proj.bias',
    ],
  ])('%s', async (label, fields, message) => {
    const path = directory('qwen2', `mismatch-${label.replaceAll(' ', '-')}`, fields)
    await expect(LocalModel.load(path, { role: 'language' })).rejects.toThrow(message)
  })

  /** The untied Llama, whose config says that it is tied. */
  async function tiedLlama(label: string, output: 'its own' | 'the embedding'): Promise<string> {
    const path = directory('llama', label, { tie_word_embeddings: true })
    const checkpoint = await Checkpoint.open(fixture('llama'))
    const tensors = new Map<string, Tensor>()
    for (const name of checkpoint.names) tensors.set(name, await checkpoint.read(name))
    await checkpoint.close()
    if (output === 'the embedding')
      noGrad(() => tensors.get('lm_head.weight')!.copy_(tensors.get('model.embed_tokens.weight')!))
    await writeSafetensors(join(path, 'model.safetensors'), tensors, { metadata: { format: 'pt' } })
    for (const tensor of tensors.values()) tensor.dispose()
    return path
  }

  test('tied by the config, with an output matrix of its own in the file: the weights are believed, also in a copy', async () => {
    const golden = readCase<{ sequences: number[][]; rows: { token_logprobs: number[] }[] }>('llama')
    const model = await LocalModel.load(await tiedLlama('own-output', 'its own'), { role: 'language' })
    const ids = Int32Array.from(golden.sequences[0]!)
    expect(model.config.decoder.tiedEmbeddings).toBe(false)
    expectClose((await model.score([ids]))[0]!.logprobs, golden.rows[0]!.token_logprobs, 1e-4)
    await model.export(temporary('own-output-again'), { what: 'model' })
    expect(
      (JSON.parse(readFileSync(temporary('own-output-again/config.json'), 'utf8')) as Fields).tie_word_embeddings,
    ).toBe(false)
    model.dispose()
  })

  test('tied by the config, with the embedding twice in the file: one matrix', async () => {
    const model = await LocalModel.load(await tiedLlama('same-output', 'the embedding'), { role: 'language' })
    expect(model.config.decoder.tiedEmbeddings).toBe(true)
    expect(model.parts.weights.has('lm_head.weight')).toBe(false)
    model.dispose()
  })
})

describe('sizes', () => {
  test.each([99_999_999_999, 2 ** 40, Number.MAX_SAFE_INTEGER])('%d layers are refused at once', async layers => {
    expect(() => parse('qwen2', { num_hidden_layers: layers })).toThrow(
      `config.json: num_hidden_layers should be at most 65536, got ${layers}`,
    )
    await expect(
      LocalModel.load(directory('smollm3', `layers-${layers}`, { num_hidden_layers: layers })),
    ).rejects.toThrow('at most 65536')
  })

  test.each(['vocab_size', 'hidden_size', 'intermediate_size', 'max_position_embeddings'])(
    'a %s that no machine has costs nothing to refuse, or to read',
    async field => {
      const path = directory('qwen2', `huge-${field}`, { [field]: 2 ** 50, head_dim: 16 })
      const opened = LocalModel.load(path, { role: 'language' })
      if (field === 'max_position_embeddings') {
        const model = (await opened) as LocalModel<'language'>
        expect(() => new LocalEngine(model)).toThrow('lower maxLength of the engine')
        await new LocalEngine(model, { maxLength: 100 }).close()
        model.dispose()
      } else await expect(opened).rejects.toThrow('the weights do not fit config.json')
    },
  )

  test('a new model that does not fit the machine is refused before it is made', async () => {
    const config = newConfig('qwen2', {
      ...sizes['2m'],
      hidden: 2 ** 20,
      heads: 2 ** 15,
      kvHeads: 2 ** 15,
      vocabSize: 1000,
    })
    await expect(LocalModel.create(config, { role: 'language', seed: 0 })).rejects.toThrow(
      /parameters take [\d,.]+ GB in float32, and this machine has [\d,.]+ GB; check the sizes in the config/,
    )
  })
})
