/**
 * Where each weight of a Hugging Face checkpoint lives in ours. Projections that read the same input are stored as one
 * matrix (`qkv`, `gate_up`): fewer and larger products. The checkpoint's names are row ranges of these.
 */
import type { Tensor } from '../tensor/index.js'
import type { DecoderConfig, HeadLayout } from './config.js'
import { familyOf } from './families/index.js'
import type { LinearMap } from './layer.js'
import type { VisionConfig } from './vision/config.js'

/** One of our tensors. */
export interface Weight {
  name: string
  shape: readonly number[]
  /** The checkpoint's tensors in it, in row order. */
  parts: readonly { name: string; rows: number }[]
  kind: 'matrix' | 'bias' | 'norm' | 'embedding'
}

/** The linear maps that an adapter may change, by the checkpoint's name inside a layer. */
export const projections = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const
export type Projection = (typeof projections)[number]

export function projectionPath(layer: number, projection: Projection): string {
  const room =
    projection.endsWith('gate_proj') || projection.endsWith('up_proj') || projection === 'down_proj'
      ? 'mlp'
      : 'self_attn'
  return `model.layers.${layer}.${room}.${projection}`
}

/** The layer and the projection of a checkpoint's tensor; undefined for others. */
export function projectionOf(name: string): { layer: number; projection: Projection } | undefined {
  const match = /^model\.(?:language_model\.)?layers\.(\d+)\.\w+\.(\w+)\.weight$/.exec(name)
  const projection = match ? projections.find(p => p === match[2]) : undefined
  return projection && { layer: Number(match![1]), projection }
}

/** What a checkpoint calls a tensor of ours. Some put the decoder and the tower side by side under `model.`. */
export function checkpointName(name: string, vision: Pick<VisionConfig, 'names'> | undefined): string {
  if (vision?.names !== 'nested') return name
  return name.replace(/^model\./, 'model.language_model.').replace(/^visual\./, 'model.visual.')
}

/** Whether a tensor of ours is the tower's, and there one of its mergers, which make rows for the decoder. */
export const isVisionWeight = (name: string): boolean => name.startsWith('visual.')
export const isMergerWeight = (name: string): boolean => /^visual\.(merger|deepstack_merger_list)\./.test(name)

export function projectionShape(config: DecoderConfig, projection: Projection): [rows: number, columns: number] {
  const { hidden, intermediate, heads, kvHeads, headDim } = config
  switch (projection) {
    case 'q_proj':
      return [heads * headDim, hidden]
    case 'k_proj':
    case 'v_proj':
      return [kvHeads * headDim, hidden]
    case 'o_proj':
      return [hidden, heads * headDim]
    case 'gate_proj':
    case 'up_proj':
      return [intermediate, hidden]
    case 'down_proj':
      return [hidden, intermediate]
  }
}

/** Every tensor of a model, in the order of computation. */
export function weightMap(config: DecoderConfig, head: HeadLayout): Weight[] {
  const { hidden, intermediate, vocabSize, headDim, heads, kvHeads } = config
  const { norms, vision } = familyOf(config.family)
  const weights: Weight[] = config.vision && vision ? [...vision.weights(config.vision)] : []
  const whole = (name: string, shape: readonly number[], kind: Weight['kind']) =>
    weights.push({ name, shape, kind, parts: [{ name, rows: shape[0]! }] })
  const fused = (name: string, layer: number, names: readonly Projection[], suffix: 'weight' | 'bias') => {
    const parts = names.map(p => ({
      name: `${projectionPath(layer, p)}.${suffix}`,
      rows: projectionShape(config, p)[0],
    }))
    const rows = parts.reduce((sum, part) => sum + part.rows, 0)
    const columns = projectionShape(config, names[0]!)[1]
    weights.push({
      name,
      parts,
      shape: suffix === 'weight' ? [rows, columns] : [rows],
      kind: suffix === 'weight' ? 'matrix' : 'bias',
    })
  }
  whole('model.embed_tokens.weight', [vocabSize, hidden], 'embedding')
  for (let i = 0; i < config.layers; i++) {
    const at = `model.layers.${i}`
    const norm = (place: 'before' | 'after', part: 'attention' | 'mlp') => {
      if (norms.place === place) whole(`${at}.${norms[part]}.weight`, [hidden], 'norm')
    }
    norm('before', 'attention')
    fused(`${at}.self_attn.qkv.weight`, i, ['q_proj', 'k_proj', 'v_proj'], 'weight')
    if (config.qkvBias) fused(`${at}.self_attn.qkv.bias`, i, ['q_proj', 'k_proj', 'v_proj'], 'bias')
    if (config.qkNorm !== 'none') {
      const together = config.qkNorm === 'head' ? [1, 1] : [heads, kvHeads]
      whole(`${at}.self_attn.q_norm.weight`, [together[0]! * headDim], 'norm')
      whole(`${at}.self_attn.k_norm.weight`, [together[1]! * headDim], 'norm')
    }
    whole(`${at}.self_attn.o_proj.weight`, projectionShape(config, 'o_proj'), 'matrix')
    if (config.outputBias) whole(`${at}.self_attn.o_proj.bias`, [hidden], 'bias')
    norm('after', 'attention')
    norm('before', 'mlp')
    fused(`${at}.mlp.gate_up.weight`, i, ['gate_proj', 'up_proj'], 'weight')
    whole(`${at}.mlp.down_proj.weight`, [hidden, intermediate], 'matrix')
    norm('after', 'mlp')
  }
  whole('model.norm.weight', [hidden], 'norm')
  if (head === 'score') whole('score.weight', [1, hidden], 'matrix')
  else if (!config.tiedEmbeddings) whole('lm_head.weight', [vocabSize, hidden], 'matrix')
  if (!config.vision) return weights
  return weights.map(weight => ({
    ...weight,
    parts: weight.parts.map(({ name, rows }) => ({ name: checkpointName(name, config.vision), rows })),
  }))
}

/** The tensors of one layer, by what they are to it. */
interface LayerWeights {
  attentionNorm: Tensor
  mlpNorm: Tensor
  qkv: LinearMap
  queryNorm: Tensor | undefined
  keyNorm: Tensor | undefined
  output: LinearMap
  gateUp: LinearMap
  down: LinearMap
}

export function layerWeights(config: DecoderConfig, weights: ReadonlyMap<string, Tensor>, layer: number): LayerWeights {
  const at = `model.layers.${layer}`
  const { norms } = familyOf(config.family)
  const map = (path: string, ...names: Projection[]): LinearMap => ({
    weight: weights.get(`${at}.${path}.weight`)!,
    bias: weights.get(`${at}.${path}.bias`) ?? null,
    layer,
    parts: names.map(projection => ({ projection, width: projectionShape(config, projection)[0] })),
  })
  return {
    attentionNorm: weights.get(`${at}.${norms.attention}.weight`)!,
    mlpNorm: weights.get(`${at}.${norms.mlp}.weight`)!,
    qkv: map('self_attn.qkv', 'q_proj', 'k_proj', 'v_proj'),
    queryNorm: weights.get(`${at}.self_attn.q_norm.weight`),
    keyNorm: weights.get(`${at}.self_attn.k_norm.weight`),
    output: map('self_attn.o_proj', 'o_proj'),
    gateUp: map('mlp.gate_up', 'gate_proj', 'up_proj'),
    down: map('mlp.down_proj', 'down_proj'),
  }
}

/** The checkpoint's tensors as views of ours. The caller disposes them. */
export function checkpointViews(weights: readonly Weight[], tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const views = new Map<string, Tensor>()
  for (const { name, parts } of weights) {
    const tensor = tensors.get(name)!
    let row = 0
    for (const part of parts) {
      views.set(part.name, tensor.narrow(0, row, part.rows))
      row += part.rows
    }
  }
  return views
}

export function parameterCount(weights: readonly Weight[]): number {
  return weights.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0)
}
