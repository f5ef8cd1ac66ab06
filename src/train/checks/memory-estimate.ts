/** Estimates the memory of a training from the shapes of its models. */
import { type DecoderConfig, parameterCount, projectionShape, weightMap } from '../../decoder/index.js'
import { type Device, type DType, dtypeBytes } from '../../tensor/index.js'
import type { LoraConfig } from '../config/common.js'
import { type PassModel, scoringBytes, trainingBytes } from './pass-memory.js'
import { frozenVision } from './vision-memory.js'

export interface PlannedModel extends PassModel {
  /** For people: `policy`, `reference`. */
  readonly name: string
  /** Ranks that the optimiser's numbers are divided over (`optimizer.shard`). Default 1. */
  readonly shards?: number
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
  /** Float32 copies of 16-bit weights that are trained; of a divided optimiser, this rank's part of the weights too. */
  readonly copies: number
  /** What a forward pass keeps for the backward pass, and both passes' work space. */
  readonly activations: number
  /** At the peak. Less than the sum where a step is one batch: gradients come while activations go. */
  readonly total: number
}

/**
 * Peak memory of one model. Weights, gradients, moments and copies are exact; activations follow the implementation of layers
 * and head.
 */
export function estimateModel(model: PlannedModel): ModelMemory {
  const { name, config, head, device, dtype, trained, adapter, shards = 1 } = model
  const size = dtypeBytes(dtype)
  const base = parameterCount(weightMap(config, head))
  const beside = adapter ? adapterParameters(config, adapter) : 0
  // A head of one number per token trains with an adapter.
  const score = head === 'score' ? config.hidden : 0
  const headParameters = head === 'score' ? score : config.vocabSize * config.hidden
  const changing = {
    weights: base - frozenVision(config, model),
    adapter: beside + score,
    head: headParameters,
    nothing: 0,
  }[trained]
  const own = Math.ceil(changing / shards)
  // A rank updates its part of the weights beside the weights themselves.
  const copies = own * ((size < 4 ? 4 : 0) + (shards > 1 ? size : 0))
  const kept = { weights: (base + beside) * size, moments: own * 8, copies }
  const gradients = changing * size
  const scored = scoringBytes(model)
  const { peak, activations } =
    trained === 'nothing' ? { peak: scored, activations: scored } : trainingBytes(model, gradients)
  const total = kept.weights + kept.moments + kept.copies + peak
  return { name, device, parameters: base + beside, ...kept, gradients, activations, total }
}

/** Bytes that stay from step to step. */
export const keptBytes = ({ weights, moments, copies }: ModelMemory): number => weights + moments + copies

/** Bytes of the keys and values of so many tokens. */
export function cacheBytes(config: DecoderConfig, { tokens, dtype }: { tokens: number; dtype: DType }): number {
  return tokens * config.layers * 2 * config.kvHeads * config.headDim * dtypeBytes(dtype)
}

/** Bytes of the matrices that an adapter changes: an engine samples from copies of them, with the adapter merged in. */
export function mergedBytes({ config, dtype, adapter }: Pick<PassModel, 'config' | 'dtype' | 'adapter'>): number {
  const changed = (adapter?.targets ?? []).reduce((sum, target) => {
    const [rows, columns] = projectionShape(config, target)
    return sum + rows * columns
  }, 0)
  return changed * config.layers * dtypeBytes(dtype)
}

function adapterParameters(config: DecoderConfig, { rank, targets }: Pick<LoraConfig, 'rank' | 'targets'>): number {
  const perLayer = targets.reduce((sum, target) => {
    const [rows, columns] = projectionShape(config, target)
    return sum + rank * (rows + columns)
  }, 0)
  return perLayer * config.layers
}
