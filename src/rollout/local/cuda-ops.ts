/** The decoder's operations on a CUDA device: chooses kernels, which are recorded into programs and graphs. */

import {
  type Columns,
  composeLayerOps,
  type DecoderParts,
  deferredLayerOps,
  headWeight,
  joinColumns,
  type LayerOps,
  type LayerRopeTables,
  type MediaRows,
  normColumns,
  type PlainOps,
  runLayers,
} from '../../decoder/index.js'
import {
  type AttentionPlan,
  type DeferredRmsNorm,
  decodeAttentionKernel,
  type GatedLinear,
  gatedLinearFits,
  gatedLinearKernel,
  type HalfDType,
  type HeadLinear,
  headLinearFits,
  headLinearKernel,
  memoized,
  type PagedCache,
  type PagedRows,
  pagedAttentionFits,
  pagedRopeKernel,
  planAttention,
  planSplit,
  type SampleOptions,
  type SampleRows,
  type SkinnyGemm,
  sampleKernel,
  skinnyGemmFits,
  skinnyGemmKernels,
  splitKLinearExists,
  splitKLinearKernel,
} from '../../kernels/index.js'
import {
  type CudaDevice,
  cat,
  cudaDevice,
  flashAttentionForward,
  linear,
  type NumberLike,
  type Tensor,
} from '../../tensor/index.js'

/** From this number of rows on, the kernels for many rows fill a card (measured on an H200). */
const manyRows = 6144

/** The KV cache and the rope tables. */
export interface Memory {
  layers: readonly PagedCache[]
  tables: Pick<LayerRopeTables, 'of'>
}

export class CudaOps {
  readonly sample: ReturnType<typeof sampleKernel>
  private readonly rope: ReturnType<typeof pagedRopeKernel>
  private readonly attention = memoized((plan: AttentionPlan & { fused: boolean }) =>
    decodeAttentionKernel(this.dtype, this.parts.config, plan),
  )
  private readonly splitKLinear = memoized((parts: number) =>
    splitKLinearKernel(this.dtype, this.parts.config.hidden, parts),
  )
  private streams: ReturnType<typeof skinnyGemmKernels> | undefined
  private gated: GatedLinear | undefined
  private head: HeadLinear | undefined

  constructor(
    private readonly parts: DecoderParts,
    private readonly dtype: HalfDType,
  ) {
    const { config } = parts
    if (!pagedAttentionFits(config))
      throw new RangeError(`generation on CUDA has no attention for heads of ${config.headDim} dimensions`)
    this.sample = sampleKernel(dtype, config.vocabSize)
    this.rope = pagedRopeKernel(dtype, config)
  }

  planAttention(rows: number, longest: number): AttentionPlan {
    return planAttention(rows, longest, this.parts.config)
  }

  private get device(): CudaDevice | undefined {
    return cudaDevice(this.parts.weights.get('model.embed_tokens.weight')!.device)
  }

  /** Undefined where the device, the model or the number of rows does not support these projections. */
  private skinnyGemm(rows: number): SkinnyGemm | undefined {
    const { parts, device } = this
    const { config } = parts
    // A norm after a projection needs its result before the residual is added.
    if (config.norms === 'after' || !device || !skinnyGemmFits(rows, config, this.dtype, device)) return undefined
    this.streams ??= skinnyGemmKernels(config.normEps, device.multiprocessors)
    return this.streams(rows)
  }

  /** Whether projections use the kernels for many rows. */
  isMany(rows: number): boolean {
    const { parts, device } = this
    if (parts.deferred) return rows >= manyRows
    return device !== undefined && gatedLinearFits(rows, parts.config, this.dtype, device)
  }

  private gatedLinear(many: boolean): Pick<PlainOps, 'gatedLinear'> {
    if (!many) return {}
    this.gated ??= gatedLinearKernel(this.device!.multiprocessors)
    return { gatedLinear: this.gated }
  }

  private get shared(): Pick<PlainOps, 'linear' | 'rmsNorm' | 'addRmsNorm' | 'swiglu'> {
    const { rmsNorm, addRmsNorm, swiglu } = this.parts.ops
    return { linear, rmsNorm, addRmsNorm, swiglu }
  }

  /** The normalised hidden states of the last tokens of sequences, one row each. */
  decode(
    ids: Tensor,
    { layers, tables, plan, rows }: Memory & { plan: AttentionPlan; rows: PagedRows & { count: number } },
  ): Tensor {
    const kernel = this.attention({ ...plan, fused: true })
    const attend = (qkv: Columns, layer: number): Tensor =>
      kernel(joinColumns(qkv), tables.of(layer), rows, layers[layer]!)
    const { shared, parts } = this
    const { hidden: width, heads, headDim, intermediate, normEps } = parts.config
    const gemm = this.skinnyGemm(rows.count)
    if (gemm) {
      const rmsNorm = (x: Tensor, weight: Tensor): Tensor => shared.rmsNorm(x, weight, normEps)
      const table = skinnyOps(gemm, {
        attend,
        normColumns: (x, weight, groups) => normColumns(rmsNorm, x, weight, groups),
      })
      return runLayers(parts, table, ids, 'all')!
    }
    const depths = splitKLinearExists() ? [heads * headDim, intermediate] : []
    const splits = new Map(depths.map(depth => [depth, planSplit(rows.count, width, depth)]))
    const splitOf = (inner: number): number => splits.get(inner) ?? 1
    const { deferred } = parts
    if (deferred) {
      const table = { ...shared, deferred: deferred.few, gradients: 'none', split: splitOf, attend } as const
      return runLayers(parts, deferredLayerOps(parts.config, table), ids, 'all')!
    }
    const ops: PlainOps = {
      ...shared,
      ...this.gatedLinear(this.isMany(rows.count)),
      linearAddRmsNorm: (x, { weight, bias, residual, norm }, eps) => {
        const split = splitOf(weight.shape[1]!)
        return split > 1
          ? this.splitKLinear(split)(rows.count, x, weight, bias, residual, norm, eps)
          : shared.addRmsNorm(shared.linear(x, weight, bias), residual, norm, eps)
      },
      // One kernel rotates, stores and attends.
      attend,
    }
    return runLayers(parts, composeLayerOps(parts.config, ops), ids, 'all')!
  }

  /** Samples a token from each hidden state, as `sample` does from logits. */
  sampleFrom(hidden: Tensor, rows: SampleRows & { count: number }, results: Tensor, options: SampleOptions): void {
    const { parts, device } = this
    const weight = headWeight(parts)
    if (!device || !headLinearFits(rows.count, parts.config, this.dtype, device)) {
      this.sample(linear(hidden, weight), rows, results, options)
      return
    }
    this.head ??= headLinearKernel(device.multiprocessors)
    const { logits, sums } = this.head(hidden, weight, rows)
    this.sample(logits, rows, results, { ...options, known: sums })
  }

  /**
   * The normalised hidden states of the rows `wanted`. First come the beginnings of sequences (`fresh`), then rows that read their sequences'
   * blocks. `many`: the result of `isMany`.
   */
  prefill(
    ids: Tensor,
    wanted: Tensor | undefined,
    options: Memory & {
      slotMapping: Tensor
      all: PagedRows
      fresh: { count: NumberLike; cuSeqlens: Tensor; longest: NumberLike } | undefined
      paged: PagedRows | undefined
      many: boolean
      media?: MediaRows | undefined
    },
  ): Tensor | undefined {
    const { layers, tables, slotMapping, all, fresh, paged, many, media } = options
    const { heads, kvHeads, headDim } = this.parts.config
    const attend = this.attention({ splits: 1, warps: 4, fused: false })
    const beginnings = (qkv: Tensor): Tensor => {
      const each = qkv.view([-1, heads + 2 * kvHeads, headDim])
      const [query, key, value] = [
        each.narrow(1, 0, heads),
        each.narrow(1, heads, kvHeads),
        each.narrow(1, heads + kvHeads, kvHeads),
      ]
      const { cuSeqlens, longest } = fresh!
      const [out] = flashAttentionForward(query, key, value, cuSeqlens, cuSeqlens, longest, longest, 0, {
        isCausal: true,
        returnDebugMask: false,
      })
      return out.reshape([-1, heads * headDim])
    }
    const store = (columns: Columns, layer: number): Tensor => {
      const qkv = joinColumns(columns)
      this.rope(qkv, tables.of(layer), all, slotMapping, layers[layer]!)
      return qkv
    }
    const { parts, shared } = this
    const rest: Pick<PlainOps, 'store' | 'attend'> = {
      store,
      attend: (columns, layer) => {
        const qkv = store(columns, layer)
        const paging = (rows: Tensor): Tensor => attend(rows, tables.of(layer), paged!, layers[layer]!)
        if (!fresh) return paging(qkv)
        if (!paged) return beginnings(qkv)
        return cat([beginnings(qkv.narrow(0, 0, fresh.count)), paging(qkv.narrow(0, fresh.count, paged.count))], 0)
      },
    }
    const { deferred } = parts
    if (deferred) {
      const ofSize = many ? deferred.many : deferred.few
      const table = { ...shared, ...rest, deferred: ofSize, gradients: 'none' } as const
      return runLayers(parts, deferredLayerOps(parts.config, table), ids, wanted ?? 'none', media)
    }
    const ops: PlainOps = { ...shared, ...rest, ...this.gatedLinear(many) }
    return runLayers(parts, composeLayerOps(parts.config, ops), ids, wanted ?? 'none', media)
  }

  /** The logits of hidden states of `prefill`. */
  logits(hidden: Tensor): Tensor {
    return linear(hidden, headWeight(this.parts))
  }
}

/** Operations for few rows, for families with norms before attention and MLP: the projections around a norm share its work. */
export function skinnyOps(gemm: SkinnyGemm, rest: Pick<LayerOps, 'attend' | 'normColumns'>): LayerOps<DeferredRmsNorm> {
  return {
    ...rest,
    begin: (ids, { table, norm }) => gemm.begin(ids, { table, norm: norm! }),
    linear: (x, { weight, bias }) => gemm.plain(x, { weight, bias }),
    gated: (x, { weight }) => gemm.gated(x, { weight }),
    join: (x, { weight, bias }, { residual, norm }) => ({
      normed: gemm.stream(x, { weight, bias, residual, norm }),
      residual,
    }),
    end: ({ normed }) => gemm.end(normed),
  }
}
