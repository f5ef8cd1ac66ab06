/**
 * Attention over keys and values in blocks of a shared cache as CUDA kernels (paged-rope.cu, decode-attention.cu): what a
 * generation engine needs of a layer between its projections. They have no gradients.
 */
import { Kernel, type KernelParameter, type NumberLike, type Tensor } from '../tensor/index.js'

export type HalfDType = 'bfloat16' | 'float16'

/** How the fused projection's heads are used: queries, keys, values. */
export interface PagedShape {
  heads: number
  kvHeads: number
  headDim: number
}

/** One layer's cache: `[blocks, kvHeads, 16, headDim]` each. */
export interface PagedCache {
  keys: Tensor
  values: Tensor
}

/** Rotary tables, float32 `[positions, headDim / 2]`. */
export interface RopeTables {
  cos: Tensor
  sin: Tensor
}

/** The rows of a step: int32, one entry each. */
export interface PagedRows {
  count: NumberLike
  /** -1: a padding row. */
  positions: Tensor
  /** The sequence's row of the table; null: the row's own number. */
  sequences: Tensor | null
  /** The blocks of each sequence, `width` entries each. `width` is one number in memory: it may change under a graph. */
  blockTable: Tensor
  width: Tensor
}

export interface AttentionPlan {
  /** Blocks of threads among which a sequence's cache is divided. */
  splits: number
  warps: number
}

/** Whether the kernels take heads of this shape. */
export function pagedAttentionFits({ headDim }: PagedShape): boolean {
  return [16, 32, 64, 96, 128].includes(headDim)
}

/**
 * How to divide the work into enough blocks of threads to fill a card: more warps for few rows, and splits for long sequences.
 */
export function planAttention(rows: number, longest: number, { heads, kvHeads, headDim }: PagedShape): AttentionPlan {
  const blocks = rows * Math.ceil(heads / kvHeads / 16) * kvHeads
  // Their parts are joined in shared memory, of which a block has 48 KiB.
  const most = headDim * (heads / kvHeads > 8 ? 2 : 1) <= 128 ? 8 : 4
  // Dividing many short sequences among several warps takes longer than it saves.
  const warps = blocks <= 256 ? most : blocks <= 528 || longest > 512 ? 4 : 2
  // Each split should have a few cache blocks for every warp.
  const worth = Math.max(1, Math.floor(longest / (16 * warps * 4)))
  // And all of them run at once: an H200 has room for about this many warps of the kernel.
  const splits = [16, 8, 4, 2].find(count => count <= worth && blocks * count * warps <= 2112) ?? 1
  return { splits, warps }
}

/** Turns queries and keys of the fused projection in place, and stores keys and values in their slotMapping (-1: nowhere). */
export function pagedRopeKernel(dtype: HalfDType, { heads, kvHeads, headDim }: PagedShape) {
  const elements: KernelParameter = `tensor:${dtype}`
  const [wide, ints]: KernelParameter[] = ['tensor:float32', 'tensor:int32']
  const kernel = new Kernel({
    file: new URL('./paged-rope.cu', import.meta.url),
    entry: 'paged_rope',
    parameters: [elements, wide!, wide!, ints!, ints!, elements, elements],
    define: { T: dtype, HEADS: heads, KV_HEADS: kvHeads, HEAD_DIM: headDim },
  })
  // Vectors of eight.
  const threads = Math.ceil(((heads + 2 * kvHeads) * headDim) / 16 / 32) * 32
  return (qkv: Tensor, tables: RopeTables, rows: PagedRows, slotMapping: Tensor, cache: PagedCache): void => {
    kernel.launch(
      { grid: [rows.count], block: [threads] },
      qkv,
      tables.cos,
      tables.sin,
      rows.positions,
      slotMapping,
      cache.keys,
      cache.values,
    )
  }
}

/**
 * Each row's attention over its sequence up to its position: `[rows, heads * headDim]`. `fused`: the projection as it is;
 * queries and keys are turned here, and each row's key and value stored where its position says. No two rows are then of
 * one sequence.
 */
export function decodeAttentionKernel(
  dtype: HalfDType,
  shape: PagedShape,
  { splits, warps, fused }: AttentionPlan & { fused: boolean },
) {
  const { heads, kvHeads, headDim } = shape
  const elements: KernelParameter = `tensor:${dtype}`
  const [wide, ints]: KernelParameter[] = ['tensor:float32', 'tensor:int32']
  const kernel = (entry: string, parameters: KernelParameter[]) =>
    new Kernel({
      file: new URL('./decode-attention.cu', import.meta.url),
      entry,
      parameters,
      define: {
        T: dtype,
        HALF_KIND: dtype === 'bfloat16' ? '"bf16"' : '"f16"',
        HEADS: heads,
        KV_HEADS: kvHeads,
        HEAD_DIM: headDim,
        WARPS: warps,
        FUSED: fused ? 1 : 0,
        SPLITS: splits,
      },
    })
  const main = kernel('decode_attention', [
    ...[elements, wide!, wide!, ints!, ints!, ints!, ints!],
    ...[elements, elements, elements, wide!, 'float32' as const],
  ])
  const join = splits > 1 ? kernel('decode_attention_join', [ints!, wide!, elements]) : undefined
  const tiles = Math.ceil(heads / kvHeads / 16) * kvHeads
  // Powers of two instead of e.
  const scale = Math.LOG2E / Math.sqrt(headDim)
  // It reads the cache before it waits for the previous kernel, so that kernel must not store keys and values.
  const overlap = fused
  return (qkv: Tensor, tables: RopeTables, rows: PagedRows, cache: PagedCache): Tensor => {
    const out = qkv.newEmpty([rows.count, heads * headDim])
    const partial = join ? qkv.newEmpty([rows.count, heads, splits, headDim + 2], { dtype: 'float32' }) : null
    main.launch(
      { grid: [rows.count, tiles, splits], block: [warps * 32], overlap },
      ...[qkv, tables.cos, tables.sin, rows.positions, rows.sequences, rows.blockTable, rows.width],
      ...[cache.keys, cache.values, out, partial, scale],
    )
    join?.launch({ grid: [rows.count, heads], block: [headDim], overlap }, rows.positions, partial, out)
    return out
  }
}
