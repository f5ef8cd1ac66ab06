import { type NumberLike, type Tensor } from '../tensor/index.js';
import type { DecoderConfig } from './config.js';
/** How the rows of a batch fall into sequences. */
export type Rows = 
/** Every sequence has `length` rows, one after another. */
{
    kind: 'uniform';
    length: NumberLike;
    mask?: Tensor | undefined;
}
/**
 * Sequences of unequal length one after another. Attention spreads them over a grid of `length` columns: `pad` holds
 * the row for every cell of the grid, `unpad` the cell of every row.
 */
 | {
    kind: 'packed';
    length: NumberLike;
    pad: Tensor;
    unpad: Tensor;
    mask?: Tensor | undefined;
}
/** As packed, where sequences that begin alike have the rows of their beginning in common: a row stands in several cells. */
 | {
    kind: 'shared';
    length: NumberLike;
    pad: Tensor;
    unpad: Tensor;
    mask?: Tensor | undefined;
}
/** As packed, for an attention kernel that takes sequences as they lie: where each begins, and the end of the last. */
 | {
    kind: 'varlen';
    length: NumberLike;
    cuSeqlens: Tensor;
};
/**
 * On the CPU, sequences up to this long are faster as plain matrix products than by libtorch's tiled attention; then `mask`,
 * `[length, length]` with minus infinity above the diagonal, is given.
 */
export declare const shortLength = 128;
/** The tensors of `rows`, to hand them into a recording. */
export declare function rowTensors(rows: Rows): Tensor[];
/** And back. */
export declare function rowsOf(kind: Rows['kind'], length: NumberLike, tensors: readonly Tensor[]): Rows;
/** `qk` holds the queries' heads, then the keys'; `[rows, heads, headDim]`. Out come `[rows, heads * headDim]`. */
export declare function attention(rows: Rows, config: DecoderConfig, qk: Tensor, value: Tensor): Tensor;
