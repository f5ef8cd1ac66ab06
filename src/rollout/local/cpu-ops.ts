/** The CPU operators of generation (`native/{linear,attention,sampling}.cc`), typed. Matrices are contiguous, `[rows, width]`. */
import { callOperator, type Sym, type Tensor } from '../../tensor/index.js'

export const cpuOps = {
  /** `x @ weight.T + bias` */
  linear: (x: Tensor, weight: Tensor, bias: Tensor | null): Tensor =>
    callOperator('whetstone::linear', x, weight, bias) as Tensor,

  rmsNorm: (x: Tensor, weight: Tensor, eps: number): Tensor =>
    callOperator('whetstone::rms_norm', x, weight, eps) as Tensor,

  /** The norm of `x + residual`, and the sum. */
  addRmsNorm: (x: Tensor, residual: Tensor, weight: Tensor, eps: number): readonly [normed: Tensor, sum: Tensor] =>
    callOperator('whetstone::add_rms_norm', x, residual, weight, eps) as [Tensor, Tensor],

  /** `silu(gate) * up` of `[rows, gate then up]`. */
  swiglu: (gateUp: Tensor): Tensor => callOperator('whetstone::swiglu', gateUp) as Tensor,

  /** Rotates queries and keys by position, stores keys and values in the layer's cache (slot -1: not stored), returns the queries. */
  rotateStore: (
    qkv: Tensor,
    tables: { cos: Tensor; sin: Tensor },
    { positions, slotMapping, cache }: { positions: Tensor; slotMapping: Tensor; cache: Tensor },
  ): Tensor =>
    callOperator('whetstone::rotate_store', qkv, tables.cos, tables.sin, positions, slotMapping, cache) as Tensor,

  /** Each row's attention over its sequence's blocks, up to its position. */
  pagedAttention: (
    queries: Tensor,
    given: { cache: Tensor; blockTable: Tensor; sequences: Tensor; positions: Tensor; scale: number },
  ): Tensor => {
    const { cache, blockTable, sequences, positions, scale } = given
    return callOperator('whetstone::paged_attention', queries, cache, blockTable, sequences, positions, scale) as Tensor
  },

  /** Samples a token from each row of float32 `logits`: ids, log-probabilities, the likeliest ids and their log-probabilities. */
  sample: (logits: Tensor, rows: CpuSamplingRows, top: Sym): readonly [Tensor, Tensor, Tensor, Tensor] =>
    callOperator(
      'whetstone::sample',
      logits,
      rows.settings,
      rows.streams,
      rows.targetIds,
      rows.forbiddenOffsets,
      rows.forbiddenIds,
      top,
    ) as [Tensor, Tensor, Tensor, Tensor],
}

/** `SamplingRows` of a step, on the device. */
interface CpuSamplingRows {
  settings: Tensor
  streams: Tensor
  targetIds: Tensor
  forbiddenOffsets: Tensor
  forbiddenIds: Tensor
}
