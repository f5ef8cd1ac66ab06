/**
 * A Hugging Face `config.json`, read strictly: a field that would change the numbers and is not implemented is refused, never
 * ignored. Where two fields contradict each other, what transformers does is done, or the file is refused.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { systemProblem } from '../errors/index.js'
import { modelsInside, recoverDirectory } from '../files/index.js'
import { ModelError } from './errors.js'
import type { FamilyDescriptor } from './families/family.js'
import { allFamilies, type Family, familyOf } from './families/index.js'
import { count, expected, flag, number, positiveNumber, readFields, shown, text } from './fields.js'
import { readVision, splitText, type VisionConfig } from './vision/index.js'

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
  /** Of models that read images and videos. */
  vision?: VisionConfig
}

/** What the weights end in: next-token logits, or one number per token (`score.weight`). */
export type HeadLayout = 'language' | 'score'

export interface ModelConfig {
  decoder: DecoderConfig
  head: HeadLayout
  /** The file as it was, for writing it again. */
  raw: Raw
}

type Raw = Readonly<Record<string, unknown>>

export function architectureName(family: Family, head: HeadLayout): string {
  const { className, vision } = familyOf(family)
  if (head === 'score') return `${className}ForSequenceClassification`
  return `${className}${vision ? 'ForConditionalGeneration' : 'ForCausalLM'}`
}

/** More layers than any model has: a larger number is a mistake, found before a list of them is made. */
const mostLayers = 65_536

/** What every family reads. transformers' own defaults of fields that may be missing are the family's. */
const fields = z.object({
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count.max(mostLayers, expected(`at most ${mostLayers}`)),
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  max_position_embeddings: count,
  rms_norm_eps: number.nonnegative(expected('a number of at least 0')).nullish(),
  rope_theta: positiveNumber.nullish(),
  tie_word_embeddings: flag.nullish(),
  attention_bias: flag.nullish(),
  initializer_range: number.nonnegative(expected('a number of at least 0')).nullish(),
  hidden_act: text.nullish(),
  mlp_bias: flag.nullish(),
  attention_dropout: number.nullish(),
  use_sliding_window: flag.nullish(),
  sliding_window: count.nullish(),
  layer_types: z.array(text, expected('a list')).nullish(),
  quantization_config: z.unknown().optional(),
})
type Fields = z.infer<typeof fields>

const ropeFields = z.object({
  rope_type: text.nullish(),
  /** Its name before transformers 4.43. */
  type: text.nullish(),
  rope_theta: positiveNumber.nullish(),
  partial_rotary_factor: number.nullish(),
})

const rope = z.looseObject({}, expected('an object')).nullish()

const architectureFields = z.object({
  architectures: z.array(text, expected('a list')).nullish(),
  model_type: text.nullish(),
})

const labelFields = z.object({
  id2label: z.record(z.string(), z.unknown(), expected('an object')).nullish(),
  num_labels: count.nullish(),
})

function parseArchitecture(raw: Raw, file: string): { family: Family; head: HeadLayout } {
  const { architectures, model_type: type } = readFields(architectureFields, raw, file)
  const name = architectures?.[0]
  const supported = allFamilies.flatMap(family => [
    architectureName(family, 'language'),
    architectureName(family, 'score'),
  ])
  if (name === undefined)
    throw new ModelError(
      `${file}: "architectures" is missing, so the kind of the model is unknown` +
        `${type == null ? '' : ` (model_type is ${shown(type)})`}; supported are ${supported.join(', ')}`,
    )
  for (const family of allFamilies) {
    for (const head of ['language', 'score'] as const) {
      if (name !== architectureName(family, head)) continue
      const { modelType } = familyOf(family)
      if (type != null && type !== modelType)
        throw new ModelError(
          `${file}: architectures says ${name}, model_type ${shown(type)}; a ${name} has ${shown(modelType)}`,
        )
      return { family, head }
    }
  }
  throw new ModelError(`${file}: architecture ${shown(name)} is not supported; supported are ${supported.join(', ')}`)
}

function parseRope(
  raw: Raw,
  file: string,
  { rope_theta: alone }: Fields,
  { defaults }: FamilyDescriptor,
): Pick<DecoderConfig, 'ropeTheta' | 'ropeScaling'> {
  // transformers 5 has one field, rope_parameters; before that theta stood alone and rope_scaling held the rest. Where a file
  // has both, it takes the older one whole, unless that is empty.
  const both = readFields(z.object({ rope_parameters: rope, rope_scaling: rope }), raw, file)
  const name = Object.keys(both.rope_scaling ?? {}).length > 0 ? 'rope_scaling' : 'rope_parameters'
  const given = both[name] ?? {}
  const read = readFields(z.object({ [name]: ropeFields }), { [name]: given }, file)[name]!
  const ropeTheta = read.rope_theta ?? alone ?? defaults.ropeTheta
  const type = read.rope_type ?? read.type ?? 'default'
  const partial = read.partial_rotary_factor ?? raw.partial_rotary_factor ?? 1
  if (partial !== 1)
    throw new ModelError(`${file}: partial_rotary_factor ${shown(partial)} is not supported; only 1 is`)
  const nested = Object.entries(given).find(([, value]) => typeof value === 'object' && value !== null)
  if (nested) throw new ModelError(`${file}: ${name} by kind of layer (${nested[0]}) is not supported`)
  if (type === 'default') return { ropeTheta, ropeScaling: undefined }
  if (type !== 'llama3') {
    throw new ModelError(`${file}: rope type ${shown(type)} is not supported; supported are default and llama3`)
  }
  const positive = (field: string): number => {
    const value = given[field]
    if (typeof value !== 'number' || !(value > 0))
      throw new ModelError(`${file}: llama3 rope scaling needs ${field} as a positive number, got ${shown(value)}`)
    return value
  }
  return {
    ropeTheta,
    ropeScaling: {
      factor: positive('factor'),
      lowFreqFactor: positive('low_freq_factor'),
      highFreqFactor: positive('high_freq_factor'),
      originalContext: positive('original_max_position_embeddings'),
    },
  }
}

/** Refuses what would change the numbers. */
function refuseUnsupported(read: Fields, file: string, { slidingWindow, defaults }: FamilyDescriptor): void {
  const refuse = (why: string): never => {
    throw new ModelError(`${file}: ${why}`)
  }
  if (read.quantization_config)
    refuse('quantised weights (quantization_config) are not supported; use an unquantised checkpoint')
  // Two names for one function.
  if (read.hidden_act != null && read.hidden_act !== 'silu' && read.hidden_act !== 'swish')
    refuse(`hidden_act ${shown(read.hidden_act)} is not supported; only silu is`)
  if (read.mlp_bias) refuse('mlp_bias is not supported')
  if (read.attention_dropout) refuse('attention_dropout above 0 is not supported; set it to 0')
  const context = read.max_position_embeddings
  const slides = slidingWindow === 'always' || (slidingWindow === 'switched' && read.use_sliding_window === true)
  const window = read.sliding_window === undefined ? defaults.slidingWindow : read.sliding_window
  const windowed = slides && typeof window === 'number'
  if (windowed && window < context)
    refuse(
      `a sliding window (${window}) shorter than the context (${context}) is not supported; lower max_position_embeddings to the window to use the model`,
    )
  if (read.layer_types) {
    const other = read.layer_types.find(type => type !== 'full_attention')
    if (other !== undefined && !(other === 'sliding_attention' && !windowed))
      refuse(`attention type ${shown(other)} in layer_types is not supported`)
    if (read.layer_types.length !== read.num_hidden_layers)
      refuse(`layer_types has ${read.layer_types.length} entries for ${read.num_hidden_layers} layers`)
  }
}

/** Reads a parsed `config.json`; `file` is named in errors. */
export function parseConfig(raw: Raw, file: string): ModelConfig {
  const { family, head } = parseArchitecture(raw, file)
  const descriptor = familyOf(family)
  const { defaults, biases, vision } = descriptor
  const split = vision && splitText(raw, file, vision)
  const given = split?.text ?? raw
  const read = readFields(fields, given, file)
  const { hidden_size: hidden, num_attention_heads: heads, num_hidden_layers: layers } = read
  refuseUnsupported(read, file, descriptor)
  // A file that says null means as many as there are heads, one that says nothing the family's default.
  const kvHeads = (read.num_key_value_heads === undefined ? defaults.kvHeads : read.num_key_value_heads) ?? heads
  if (heads % kvHeads !== 0)
    throw new ModelError(
      `${file}: num_attention_heads (${heads}) is not a multiple of num_key_value_heads (${kvHeads})`,
    )
  const headDim = read.head_dim ?? defaults.headDim ?? hidden / heads
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new ModelError(`${file}: the head dimension should be an even integer, got ${headDim}`)
  const bias = read.attention_bias ?? false
  if (head === 'score') {
    const { id2label, num_labels: given } = readFields(labelFields, raw, file)
    const labels = id2label ? Object.keys(id2label).length : (given ?? 1)
    if (labels !== 1) throw new ModelError(`${file}: a reward or value model has one label, this one has ${labels}`)
  }
  return {
    head,
    raw,
    decoder: {
      family,
      vocabSize: read.vocab_size,
      hidden,
      intermediate: read.intermediate_size,
      layers,
      heads,
      kvHeads,
      headDim,
      context: read.max_position_embeddings,
      normEps: read.rms_norm_eps ?? defaults.normEps,
      ...parseRope(given, file, read, descriptor),
      qkvBias: biases.qkv === 'always' || (biases.qkv === 'config' && bias),
      outputBias: biases.output === 'config' && bias,
      qkNorm: descriptor.qkNorm,
      norms: descriptor.norms.place,
      ropeLayers: descriptor.ropeLayers?.(raw, { file, layers }) ?? 'all',
      tiedEmbeddings: read.tie_word_embeddings ?? defaults.tiedEmbeddings,
      initRange: read.initializer_range ?? 0.02,
      ...(split && { vision: readVision(raw, file, vision!, { ...split, hidden, headDim, layers }) }),
    },
  }
}

/** Reads the `config.json` of a model directory. */
export async function readConfig(directory: string): Promise<ModelConfig> {
  await recoverDirectory(directory)
  const file = join(directory, 'config.json')
  let raw: unknown
  try {
    raw = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new ModelError(
        `${directory} ${existsSync(directory) ? 'has no config.json' : 'does not exist'}; expected a Hugging Face model directory`,
        { cause },
      )
    if ((cause as NodeJS.ErrnoException).code === 'ENOTDIR')
      throw new ModelError(`${directory} is a file; expected a Hugging Face model directory`, { cause })
    throw new ModelError(`${file} cannot be read: ${systemProblem(cause, 'read')}`, { cause })
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new ModelError(`${file}: expected an object`)
  const inside = 'architectures' in raw ? '' : modelsInside(directory)
  if (inside !== '') throw new ModelError(`${directory} is no model${inside}`)
  return parseConfig(raw as Raw, file)
}
