/** A `config.json` from the metadata of a GGUF file. What would change the numbers and is not implemented is refused. */
import { architectureName, familyOf, type ModelConfig, parseConfig } from '../decoder/index.js'
import { type Architecture, architectures, unrotatedEvery } from './architectures.js'
import { GgufError } from './errors.js'
import type { GgufFile } from './file.js'
import type { Metadata, MetadataValue } from './header.js'
import { scalingOf, shortest } from './rope-factors.js'

/** Keys of an architecture that are read, or say the same as others. */
const knownKeys = new Set([
  'vocab_size',
  'context_length',
  'embedding_length',
  'block_count',
  'feed_forward_length',
  'attention.head_count',
  'attention.head_count_kv',
  'attention.key_length',
  'attention.value_length',
  'attention.layer_norm_rms_epsilon',
  'attention.causal',
  'attention.sliding_window',
  'rope.dimension_count',
  'rope.freq_base',
  'rope.scaling.type',
])

interface ReadConfig {
  readonly config: ModelConfig
  readonly architecture: Architecture
}

/** Special tokens, for the fields of config.json. */
type TokenFields = Readonly<Partial<Record<'bos_token_id' | 'eos_token_id' | 'pad_token_id', number>>>

export async function configFrom(file: GgufFile, tokens: TokenFields): Promise<ReadConfig> {
  const { metadata, path } = file
  const architecture = architectureIn(metadata, path)
  const { name, family } = architecture
  const read = reader(metadata, path, name)
  refuseOthers(metadata, path, name)
  const has = (tensor: string): boolean => file.info(tensor) !== undefined
  const vocabulary = file.info('token_embd.weight')?.shape[0]
  if (vocabulary === undefined) throw new GgufError(`${path} has no tensor token_embd.weight: it is not a whole model`)
  const heads = read.count('attention.head_count')
  const headDim = read.count('attention.key_length', read.count('embedding_length') / heads)
  for (const key of ['rope.dimension_count', 'attention.value_length'])
    if (read.count(key, headDim) !== headDim)
      throw new GgufError(`${path}: ${name}.${key} ${read.count(key)} is not supported; heads have ${headDim} numbers`)
  const context = read.count('context_length')
  const window = read.count('attention.sliding_window', 0)
  if (window > 0 && window < context)
    throw new GgufError(`${path}: a sliding window (${window}) shorter than the context (${context}) is not supported`)
  const ropeTheta = shortest(read.number('rope.freq_base', 10_000))
  const scaling = await ropeScaling(file, { headDim, ropeTheta })
  const raw = {
    architectures: [architectureName(family, 'language')],
    model_type: familyOf(family).modelType,
    vocab_size: vocabulary,
    hidden_size: read.count('embedding_length'),
    intermediate_size: read.count('feed_forward_length'),
    num_hidden_layers: read.count('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: read.count('attention.head_count_kv', heads),
    head_dim: headDim,
    max_position_embeddings: context,
    hidden_act: 'silu',
    attention_dropout: 0,
    initializer_range: 0.02,
    use_cache: true,
    ...familyOf(family).init,
    ...(architecture.biases === 'all' && { attention_bias: has('blk.0.attn_q.bias') }),
    ...(family === 'smollm3' && { no_rope_layer_interval: unrotatedEvery }),
    rms_norm_eps: shortest(read.number('attention.layer_norm_rms_epsilon')),
    rope_theta: ropeTheta,
    ...(scaling && { rope_scaling: scaling }),
    tie_word_embeddings: !has('output.weight'),
    ...tokens,
  }
  return { config: parseConfig(raw, path), architecture }
}

function architectureIn(metadata: Metadata, path: string): Architecture {
  const type = metadata.get('general.type')
  if (type !== undefined && type !== 'model')
    throw new GgufError(
      `${path} holds a ${String(type)}, not a model${type === 'adapter' ? '; merge it into its model first' : ''}`,
    )
  const name = metadata.get('general.architecture')
  const found = architectures.find(architecture => architecture.name === name)
  if (!found)
    throw new GgufError(
      `${path}: the architecture ${JSON.stringify(name ?? null)} is not supported; supported are ${architectures.map(({ name }) => name).join(', ')}`,
    )
  return found
}

function reader(metadata: Metadata, path: string, name: string) {
  const number = (key: string, fallback?: number): number => {
    // Where all layers have the same, some files list it for each.
    const value = same(metadata.get(`${name}.${key}`)) ?? fallback
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new GgufError(`${path}: ${name}.${key} should be a number, got ${shown(value)}`)
    return value
  }
  const count = (key: string, fallback?: number): number => {
    const value = number(key, fallback)
    if (!Number.isSafeInteger(value) || value < 0)
      throw new GgufError(`${path}: ${name}.${key} should be a whole number, got ${value}`)
    return value
  }
  return { number, count }
}

function same(value: MetadataValue | undefined): MetadataValue | undefined {
  return Array.isArray(value) && value.length > 0 && value.every(item => item === value[0]) ? value[0] : value
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 80)

/** Keys that this code does not know may change what the model computes; only a zero surely does not. */
function refuseOthers(metadata: Metadata, path: string, name: string): void {
  for (const [key, value] of metadata) {
    if (!key.startsWith(`${name}.`)) continue
    const own = key.slice(name.length + 1)
    if (own === 'rope.scaling.type' && value !== 'none')
      throw new GgufError(`${path}: ${key} ${shown(value)} is not supported`)
    if (own === 'attention.causal' && value !== true)
      throw new GgufError(`${path}: ${key} ${shown(value)} is not supported`)
    const without = own.startsWith('rope.scaling.') && metadata.get(`${name}.rope.scaling.type`) === 'none'
    if (!knownKeys.has(own) && value !== 0 && value !== false && !without)
      throw new GgufError(
        `${path}: ${key} (${shown(value)}) is not supported: the model computes with something that is not known here`,
      )
  }
}

async function ropeScaling(file: GgufFile, rope: { headDim: number; ropeTheta: number }) {
  const info = file.info('rope_freqs.weight')
  if (!info) return undefined
  if (info.shape.length !== 1 || info.shape[0] !== rope.headDim / 2)
    throw new GgufError(
      `${file.path}: rope_freqs.weight has the sizes ${info.shape.join(' x ')}, expected ${rope.headDim / 2}`,
    )
  const factors = new Float32Array(rope.headDim / 2)
  await file.readInto('rope_freqs.weight', new Uint8Array(factors.buffer), { dtype: 'float32' })
  if (factors.every(factor => factor === 1)) return undefined
  const scaling = scalingOf(rope, factors)
  if (!scaling)
    throw new GgufError(
      `${file.path}: the factors of rope_freqs.weight are not those of Llama 3's rope scaling; others are not supported`,
    )
  return {
    rope_type: 'llama3',
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalContext,
  }
}
