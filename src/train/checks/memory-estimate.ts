/** Estimates the memory of a training from the shapes of its models. */
import { type DecoderConfig, type HeadLayout, parameterCount, projectionShape, weightMap } from '../../decoder/index.js'
import { planHead } from '../../model/index.js'
import { type Device, type DType, dtypeBytes } from '../../tensor/index.js'
import type { LoraConfig } from '../config/common.js'

/** Trained part of a model: all weights, an adapter, only the head, or nothing. */
export type Trained = 'weights' | 'adapter' | 'head' | 'nothing'

export interface PlannedModel {
  /** For people: `policy`, `reference`. */
  readonly name: string
  readonly config: DecoderConfig
  readonly head: HeadLayout
  readonly device: Device
  readonly dtype: DType
  readonly trained: Trained
  /** The adapter's shape, where one is there. */
  readonly adapter?: Pick<LoraConfig, 'rank' | 'targets'> | undefined
  readonly gradientCheckpointing: boolean
  /** Tokens of a forward pass, of its longest sequence, its sequences, and the tokens whose output is wanted (default: all). */
  readonly tokens: number
  readonly longest: number
  readonly sequences?: number
  readonly outputs?: number
}

/** What a model takes, by what it is for. */
export interface ModelMemory {
  readonly name: string
  readonly device: Device
  /** Numbers that are kept: the model's and its adapter's. */
  readonly parameters: number
  /** Bytes, from here on. */
  readonly weights: number
  readonly gradients: number
  /** AdamW's two numbers per parameter, in float32. */
  readonly moments: number
  /** Float32 copies of 16-bit weights that are trained. */
  readonly copies: number
  /** What a forward pass keeps for the backward pass, and both passes' work space. */
  readonly activations: number
  readonly total: number
}

/**
 * Peak memory of one model. Weights, gradients, moments and copies are exact; activations follow the layer and head
 * implementation, within a quarter of the measured value.
 */
export function estimateModel(model: PlannedModel): ModelMemory {
  const { name, config, head, device, dtype, trained, adapter } = model
  const size = dtypeBytes(dtype)
  const base = parameterCount(weightMap(config, head))
  const beside = adapter ? adapterParameters(config, adapter) : 0
  // A head of one number per token trains with an adapter.
  const score = head === 'score' ? config.hidden : 0
  const headParameters = head === 'score' ? score : config.vocabSize * config.hidden
  const changing = { weights: base, adapter: beside + score, head: headParameters, nothing: 0 }[trained]
  const parts = {
    weights: (base + beside) * size,
    gradients: changing * size,
    moments: changing * 8,
    copies: size < 4 ? changing * 4 : 0,
    activations: trained === 'nothing' ? scoringBytes(model) : trainingBytes(model),
  }
  return {
    name,
    device,
    parameters: base + beside,
    ...parts,
    total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
  }
}

/** Bytes of the keys and values of so many tokens. */
export function cacheBytes(config: DecoderConfig, { tokens, dtype }: { tokens: number; dtype: DType }): number {
  return tokens * config.layers * 2 * config.kvHeads * config.headDim * dtypeBytes(dtype)
}

function adapterParameters(config: DecoderConfig, { rank, targets }: Pick<LoraConfig, 'rank' | 'targets'>): number {
  const perLayer = targets.reduce((sum, target) => {
    const [rows, columns] = projectionShape(config, target)
    return sum + rank * (rows + columns)
  }, 0)
  return perLayer * config.layers
}

/** Numbers of a token that one layer's backward pass reads. */
function savedPerLayer(model: PlannedModel): number {
  const { config, device, longest, adapter, trained } = model
  const { hidden, intermediate, heads, kvHeads, headDim } = config
  const queries = heads * headDim
  const projected = queries + 2 * kvHeads * headDim
  // Both norms keep what they read and give; the MLP its two halves and their product.
  const common = 4 * hidden + 3 * intermediate + queries
  const normed = config.qkNorm === 'none' ? 0 : projected
  // On the CPU short sequences use plain matrix products for attention, which keep the weights of every pair; longer ones repeat
  // shared keys.
  const attention = device !== 'cpu' ? projected : longest <= 128 ? projected + heads * longest : 4 * queries
  const low = trained === 'adapter' ? (adapter?.targets.length ?? 0) * (adapter?.rank ?? 0) : 0
  return common + normed + attention + low
}

function trainingBytes(model: PlannedModel): number {
  const { config, dtype, tokens, trained, gradientCheckpointing } = model
  const size = dtypeBytes(dtype)
  const layer = savedPerLayer(model) * tokens * size
  // The backward pass of a layer holds the gradients of its widest part.
  const arriving = 3 * Math.max(2 * config.intermediate, 2 * config.hidden) * tokens * size
  const head = headBytes(model, { training: true })
  // No layer is gone back through.
  if (trained === 'head') return Math.max(scoringBytes(model), head)
  // The head's work space is given back before the layers' backward passes take theirs.
  if (!gradientCheckpointing) return config.layers * layer + Math.max(head, arriving)
  return config.layers * 2 * config.hidden * tokens * size + Math.max(head, layer + arriving)
}

/** Without gradients a layer's memory is the next one's. */
function scoringBytes(model: PlannedModel): number {
  const { config, dtype, tokens } = model
  const widest = 3 * config.intermediate + 2 * config.hidden
  return Math.max(widest * tokens * dtypeBytes(dtype), headBytes(model, { training: false }))
}

/** Logits exist a chunk at a time, twice at most; small ones are kept on the CPU. */
function headBytes(model: PlannedModel, { training }: { training: boolean }): number {
  const { config, head, device, dtype, tokens } = model
  if (head === 'score') return 0
  const wanted = { scaled: false, trainWeight: true, entropy: false, training, device }
  const plan = planHead(tokens, config.vocabSize, wanted)
  const perRow = config.vocabSize * (device === 'cpu' ? 4 : dtypeBytes(dtype))
  return (plan.keep ? tokens * perRow : 0) + (plan.keep ? 1 : 2) * Math.min(tokens, plan.rowsPerChunk) * perRow
}
