/**
 * Attention over keys and values in blocks of a shared cache as CUDA kernels (paged-rope.cu, decode-attention.cu): what a
 * generation engine needs of a layer between its projections. They know no gradients.
 */
import { type NumberLike, type Tensor } from '../tensor/index.js';
export type HalfDType = 'bfloat16' | 'float16';
/** How the fused projection's heads are used: queries, keys, values. */
export interface PagedShape {
    heads: number;
    kvHeads: number;
    headDim: number;
}
/** One layer's cache: `[blocks, kvHeads, 16, headDim]` each. */
export interface PagedCache {
    keys: Tensor;
    values: Tensor;
}
/** Rotary tables, float32 `[positions, headDim / 2]`. */
export interface RopeTables {
    cos: Tensor;
    sin: Tensor;
}
/** The rows of a step: int32, one entry each. */
export interface PagedRows {
    count: NumberLike;
    /** -1: a padding row. */
    positions: Tensor;
    /** The sequence's row of the table; null: the row's own number. */
    sequences: Tensor | null;
    /** The blocks of each sequence, `width` entries each. `width` is one number in memory: it may change under a graph. */
    blockTable: Tensor;
    width: Tensor;
}
export interface AttentionPlan {
    /** Blocks of threads among which a sequence's cache is divided. */
    splits: number;
    warps: number;
}
/** Whether the kernels take heads of this shape. */
export declare function pagedAttentionFits({ headDim }: PagedShape): boolean;
/**
 * How to spread the work: enough blocks of threads to fill a card, where there are few rows by more warps, and where
 * sequences are long by splitting them.
 */
export declare function planAttention(rows: number, longest: number, { heads, kvHeads, headDim }: PagedShape): AttentionPlan;
/** Turns queries and keys of the fused projection in place, and stores keys and values in their slotMapping (-1: nowhere). */
export declare function pagedRopeKernel(dtype: HalfDType, { heads, kvHeads, headDim }: PagedShape): (qkv: Tensor, tables: RopeTables, rows: PagedRows, slotMapping: Tensor, cache: PagedCache) => void;
/**
 * Each row's attention over its sequence up to its position: `[rows, heads * headDim]`. `fused`: the projection as it is;
 * queries and keys are turned here, and each row's key and value stored where its position says. No two rows are then of
 * one sequence.
 */
export declare function decodeAttentionKernel(dtype: HalfDType, shape: PagedShape, { splits, warps, fused }: AttentionPlan & {
    fused: boolean;
}): (qkv: Tensor, tables: RopeTables, rows: PagedRows, cache: PagedCache) => Tensor;
