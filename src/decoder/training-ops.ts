/** The table of operations of training and scoring: differentiable, with adapters, over batches of whole sequences. */

import type { DeferredNorm, DeferredOps, DeferredOpsBySize, FusedOps } from '../kernels/index.js'
import { cat, checkpoint, linear, type Sym, type Tensor } from '../tensor/index.js'
import { attention, type Rows, rowsOf, rowTensors } from './attention.js'
import { type AdapterLookup, composeLayerOps, type PlainOps } from './composed-ops.js'
import type { DecoderConfig } from './config.js'
import { deferredLayerOps } from './deferred-ops.js'
import { type Columns, isSplit, type LayerOps, runLayers } from './layer.js'
import { usesRope } from './rope.js'
import type { MediaRows } from './vision/index.js'
import { projections } from './weight-map.js'

export interface DecoderParts {
  config: DecoderConfig
  weights: ReadonlyMap<string, Tensor>
  /** Norms and activations for the weights' device and dtype. */
  ops: FusedOps
  /** The layers over a float32 stream, where there are kernels for it. */
  deferred?: DeferredOpsBySize | undefined
  /** Undefined: no adapter, or the adapter is off. */
  adapter?: AdapterLookup | undefined
  /** How often the weights have moved to other memory: graphs hold addresses, and are void then. */
  storageGeneration?: () => number
  /** Keep only each layer's input for the backward pass. */
  gradientCheckpointing?: boolean
  /** Whether a backward pass follows. Default: it may. */
  gradients?: 'recorded' | 'none'
}

/** Where rows stand: their rotations, float32 `[rows, headDim / 2]`, and the sequences they are of. */
interface Places {
  cos: Tensor
  sin: Tensor
  rows: Rows
  /** As `FusedOps.dropout` takes them; with them, adapters drop a part of their input. */
  dropoutKeys?: Tensor | undefined
  /** Rows that are images or videos. */
  media?: MediaRows | undefined
}

/** The hidden states after the final norm, `[rows, hidden]`, of all rows or of those that are wanted, each of them once. */
export function decode(parts: DecoderParts, ids: Tensor, places: Places, wanted: Tensor | 'all' = 'all'): Tensor {
  const { deferred } = parts
  return deferred
    ? runLayers(parts, deferredTrainingOps(parts, deferred.many, places), ids, wanted, places.media)!
    : runLayers(parts, trainingOps(parts, places), ids, wanted, places.media)!
}

function trainingOps(parts: DecoderParts, places: Places): LayerOps {
  const composed = composeLayerOps(
    parts.config,
    { ...sharedOps(parts, places), addRmsNorm: parts.ops.addRmsNorm },
    parts.adapter,
  )
  if (!parts.gradientCheckpointing) return composed
  const again = (inner: Places) => trainingOps(parts, inner)
  const [tensorsOf, normedOf] = [(normed: Tensor) => [normed], ([normed]: readonly Tensor[]) => normed!]
  return { ...composed, runLayer: checkpointed(places, again, tensorsOf, normedOf) }
}

function deferredTrainingOps(parts: DecoderParts, deferred: DeferredOps, places: Places): LayerOps<DeferredNorm> {
  const gradients = parts.gradients ?? 'recorded'
  const composed = deferredLayerOps(parts.config, { ...sharedOps(parts, places), deferred, gradients }, parts.adapter)
  if (!parts.gradientCheckpointing) return composed
  const again = (inner: Places) => deferredTrainingOps(parts, deferred, inner)
  const tensorsOf = ({ values, rstd }: DeferredNorm) => [values, rstd]
  const normedOf = ([values, rstd]: readonly Tensor[]) => ({ values: values!, rstd: rstd! })
  return { ...composed, runLayer: checkpointed(places, again, tensorsOf, normedOf) }
}

/** What does not depend on how the stream between layers is kept. */
function sharedOps(
  parts: DecoderParts,
  places: Places,
): Omit<PlainOps, 'addRmsNorm' | 'store' | 'linearAddRmsNorm' | 'gatedLinear'> {
  const { config, ops } = parts
  return {
    linear: ops.linear,
    rmsNorm: ops.rmsNorm,
    swiglu: ops.swiglu,
    // Heads as they lie in the projection: a row of each would be a copy.
    normColumns: (x, weight, groups) =>
      ops.rmsNorm(x.reshape([-1, groups, weight.shape[0]!]), weight, config.normEps).flatten(1),
    addLowRank: (out, input, low, { layer, projection }) => {
      const { dropoutKeys: keys } = places
      const stream = layer * projections.length + projections.indexOf(projection)
      const dropped = keys && low.dropout > 0 ? ops.dropout(input, keys, { stream, rate: low.dropout }) : input
      return out.add(linear(linear(dropped, low.a), low.b), { alpha: low.scale })
    },
    attend: (qkv, layer) => {
      const [qk, value] = rotate(parts, qkv, layer, places)
      return attention(places.rows, config, qk, value)
    },
  }
}

/** Queries and keys side by side, rotated by position where the layer does so, and the values: `[rows, heads, headDim]` each. */
function rotate(
  { config, ops }: DecoderParts,
  qkv: Columns,
  layer: number,
  { cos, sin }: Places,
): readonly [qk: Tensor, value: Tensor] {
  const { heads, kvHeads, headDim } = config
  const rotated = heads + kvHeads
  const rotates = usesRope(config, layer)
  if (!isSplit(qkv)) {
    if (rotates) return ops.rope({ rotated, rest: kvHeads, headDim })(qkv, cos, sin)
    const each = qkv.reshape([-1, rotated + kvHeads, headDim])
    return [each.narrow(1, 0, rotated), each.narrow(1, rotated, kvHeads)]
  }
  const [query, key, value] = qkv as readonly [Tensor, Tensor, Tensor]
  const qk = cat([query, key], 1)
  return [
    rotates ? ops.rope({ rotated, rest: 0, headDim })(qk, cos, sin)[0] : qk.reshape([-1, rotated, headDim]),
    value.reshape([-1, kvHeads, headDim]),
  ]
}

/** The layer as a checkpoint: its inputs are what the backward pass keeps. `again` makes the table over inputs of its own. */
function checkpointed<Normed>(
  { cos, sin, rows, dropoutKeys }: Places,
  again: (places: Places) => LayerOps<Normed>,
  tensorsOf: (normed: Normed) => readonly Tensor[],
  normedOf: (tensors: readonly Tensor[]) => Normed,
): NonNullable<LayerOps<Normed>['runLayer']> {
  return ({ normed, residual }, run) => {
    const keys = dropoutKeys ? [dropoutKeys] : []
    const normedTensors = tensorsOf(normed)
    const count = normedTensors.length
    const tensors = [residual, ...normedTensors, cos, sin, ...keys, ...rowTensors(rows)]
    const kinds = [...tensors.map(() => 'tensor' as const), 'number' as const]
    const layer = checkpoint(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
      const given = inputs.slice(0, -1) as Tensor[]
      const [cos, sin, ...rest] = given.slice(1 + count)
      const dropped = dropoutKeys && { dropoutKeys: rest.shift()! }
      const inner = { cos: cos!, sin: sin!, rows: rowsOf(rows.kind, inputs.at(-1) as Sym, rest), ...dropped }
      const state = { residual: given[0]!, normed: normedOf(given.slice(1, 1 + count)) }
      const next = run(again(inner), state)
      return [next.residual, ...tensorsOf(next.normed)]
    })
    const [nextResidual, ...nextNormed] = layer(...tensors, rows.length)
    return { residual: nextResidual!, normed: normedOf(nextNormed) }
  }
}

/** The matrix that makes logits of hidden states. */
export function headWeight({ weights, config }: DecoderParts): Tensor {
  return weights.get(config.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight')!
}
