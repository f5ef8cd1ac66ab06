/**
 * A Hugging Face `config.json`, read strictly: a field that would change the numbers and is not implemented is refused, never
 * ignored.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelError } from './errors.js'

export const families = ['llama', 'mistral', 'qwen2', 'qwen3'] as const
export type Family = (typeof families)[number]

interface Llama3Scaling {
  factor: number
  lowFreqFactor: number
  highFreqFactor: number
  originalContext: number
}

/** What the decoder needs to know. */
export interface DecoderConfig {
  family: Family
  vocabSize: number
  hidden: number
  intermediate: number
  layers: number
  heads: number
  kvHeads: number
  headDim: number
  context: number
  normEps: number
  ropeTheta: number
  ropeScaling: Llama3Scaling | undefined
  /** Query, key and value projections have a bias. */
  qkvBias: boolean
  /** The attention's output projection has a bias. */
  outputBias: boolean
  /** How queries and keys are normalised: each head by itself, or all heads of a row together. */
  qkNorm: 'none' | 'head' | 'projection'
  /** Where a layer's norms stand: in front of attention and MLP, or behind them, on what they add. */
  norms: 'before' | 'after'
  /** The layers whose queries and keys are rotated by position. */
  ropeLayers: 'all' | readonly boolean[]
  tiedEmbeddings: boolean
  initRange: number
}

/** What the weights end in: next-token logits, or one number per token (`score.weight`). */
export type HeadLayout = 'language' | 'score'

export interface ModelConfig {
  decoder: DecoderConfig
  head: HeadLayout
  /** The file as it was, for writing it again. */
  raw: Readonly<Record<string, unknown>>
}

const classNames: Record<Family, string> = { llama: 'Llama', mistral: 'Mistral', qwen2: 'Qwen2', qwen3: 'Qwen3' }

export function architectureName(family: Family, head: HeadLayout): string {
  return `${classNames[family]}${head === 'language' ? 'ForCausalLM' : 'ForSequenceClassification'}`
}

type Raw = Readonly<Record<string, unknown>>

/** Reads a field with its type checked; `fallback` is transformers' own default. */
function reader(raw: Raw, file: string) {
  const fail = (name: string, expected: string): never => {
    throw new ModelError(`${file}: ${name} should be ${expected}, got ${JSON.stringify(raw[name])}`)
  }
  return {
    count(name: string, fallback?: number): number {
      const value = raw[name] ?? fallback
      return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : fail(name, 'a positive integer')
    },
    number(name: string, fallback?: number): number {
      const value = raw[name] ?? fallback
      return typeof value === 'number' && Number.isFinite(value) ? value : fail(name, 'a number')
    },
    flag(name: string, fallback: boolean): boolean {
      const value = raw[name] ?? fallback
      return typeof value === 'boolean' ? value : fail(name, 'true or false')
    },
  }
}

function parseArchitecture(raw: Raw, file: string): { family: Family; head: HeadLayout } {
  const names = Array.isArray(raw.architectures) ? raw.architectures : []
  for (const family of families) {
    for (const head of ['language', 'score'] as const) {
      if (names[0] === architectureName(family, head)) return { family, head }
    }
  }
  const supported = families.flatMap(family => [
    architectureName(family, 'language'),
    architectureName(family, 'score'),
  ])
  throw new ModelError(
    `${file}: architecture ${JSON.stringify(names[0] ?? raw.model_type ?? 'unknown')} is not supported; supported are ${supported.join(', ')}`,
  )
}

function parseRope(raw: Raw, file: string): Pick<DecoderConfig, 'ropeTheta' | 'ropeScaling'> {
  // transformers 5 has one field, rope_parameters; before that theta stood alone and rope_scaling held the rest.
  const scaling = (raw.rope_parameters ?? raw.rope_scaling ?? {}) as Raw
  const type = scaling.rope_type ?? scaling.type ?? 'default'
  const theta = scaling.rope_theta ?? raw.rope_theta ?? 10000
  if (typeof theta !== 'number' || !(theta > 0))
    throw new ModelError(`${file}: rope_theta should be a positive number, got ${JSON.stringify(theta)}`)
  if (type === 'default') return { ropeTheta: theta, ropeScaling: undefined }
  if (type !== 'llama3') {
    throw new ModelError(
      `${file}: rope type ${JSON.stringify(type)} is not supported; supported are default and llama3`,
    )
  }
  const number = (name: string): number => {
    const value = scaling[name]
    if (typeof value !== 'number' || !(value > 0))
      throw new ModelError(
        `${file}: llama3 rope scaling needs ${name} as a positive number, got ${JSON.stringify(value)}`,
      )
    return value
  }
  return {
    ropeTheta: theta,
    ropeScaling: {
      factor: number('factor'),
      lowFreqFactor: number('low_freq_factor'),
      highFreqFactor: number('high_freq_factor'),
      originalContext: number('original_max_position_embeddings'),
    },
  }
}

/** Refuses what would change the numbers. */
function refuseUnsupported(raw: Raw, file: string, family: Family, context: number): void {
  const refuse = (why: string): never => {
    throw new ModelError(`${file}: ${why}`)
  }
  if (raw.quantization_config)
    refuse('quantised weights (quantization_config) are not supported; use an unquantised checkpoint')
  if (raw.hidden_act !== undefined && raw.hidden_act !== 'silu')
    refuse(`hidden_act ${JSON.stringify(raw.hidden_act)} is not supported; only silu is`)
  if (raw.mlp_bias === true) refuse('mlp_bias is not supported')
  if (typeof raw.attention_dropout === 'number' && raw.attention_dropout > 0)
    refuse('attention_dropout above 0 is not supported; set it to 0')
  // Only Qwen has a switch for it, off unless set; Mistral has a window unless it says null.
  const slides = family === 'mistral' || (family.startsWith('qwen') && raw.use_sliding_window === true)
  const window = raw.sliding_window === undefined && family === 'mistral' ? 4096 : raw.sliding_window
  const windowed = slides && typeof window === 'number'
  if (windowed && window < context)
    refuse(
      `a sliding window (${window}) shorter than the context (${context}) is not supported; lower max_position_embeddings to use the model within it`,
    )
  if (Array.isArray(raw.layer_types)) {
    const other = raw.layer_types.find(type => type !== 'full_attention')
    if (other !== undefined && !(other === 'sliding_attention' && !windowed))
      refuse(`attention type ${JSON.stringify(other)} in layer_types is not supported`)
  }
}

/** Reads a parsed `config.json`; `file` is named in errors. */
export function parseConfig(raw: Raw, file: string): ModelConfig {
  const { family, head } = parseArchitecture(raw, file)
  const { count, number, flag } = reader(raw, file)
  const hidden = count('hidden_size')
  const heads = count('num_attention_heads')
  const kvHeads = count('num_key_value_heads', heads)
  const context = count('max_position_embeddings')
  refuseUnsupported(raw, file, family, context)
  if (heads % kvHeads !== 0)
    throw new ModelError(
      `${file}: num_attention_heads (${heads}) is not a multiple of num_key_value_heads (${kvHeads})`,
    )
  // Qwen3 alone has a default that does not follow from the rest.
  const headDim = raw.head_dim == null ? (family === 'qwen3' ? 128 : hidden / heads) : count('head_dim')
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new ModelError(`${file}: the head dimension should be an even integer, got ${headDim}`)
  const bias = family === 'llama' || family === 'qwen3' ? flag('attention_bias', false) : false
  if (head === 'score') {
    const labels =
      raw.id2label && typeof raw.id2label === 'object' ? Object.keys(raw.id2label).length : (raw.num_labels ?? 1)
    if (labels !== 1)
      throw new ModelError(`${file}: a reward or value model has one label, this one has ${String(labels)}`)
  }
  return {
    head,
    raw,
    decoder: {
      family,
      vocabSize: count('vocab_size'),
      hidden,
      intermediate: count('intermediate_size'),
      layers: count('num_hidden_layers'),
      heads,
      kvHeads,
      headDim,
      context,
      normEps: number('rms_norm_eps', 1e-6),
      ...parseRope(raw, file),
      qkvBias: family === 'qwen2' || bias,
      outputBias: bias,
      qkNorm: family === 'qwen3' ? 'head' : 'none',
      norms: 'before',
      ropeLayers: 'all',
      tiedEmbeddings: flag('tie_word_embeddings', false),
      initRange: number('initializer_range', 0.02),
    },
  }
}

/** Reads the `config.json` of a model directory. */
export async function readConfig(directory: string): Promise<ModelConfig> {
  const file = join(directory, 'config.json')
  let raw: unknown
  try {
    raw = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw new ModelError(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new ModelError(`${file}: expected an object`)
  return parseConfig(raw as Raw, file)
}
