/**
 * A projection, the residual added and the norm of the sum, where there are few rows: a product of few rows and columns has
 * too few tiles to fill a card, so its inner dimension is divided, and the parts are summed where they are normed
 * (sum-rms-norm.cu). It knows no gradients.
 */
import { type NumberLike, type Tensor } from '../tensor/index.js';
import type { HalfDType } from './paged-attention.js';
/** Whether this libtorch has products of 16-bit numbers that are not rounded to them. */
export declare function splitKLinearExists(): boolean;
/** Into how many parts to divide the product of so many rows; 1: not at all. */
export declare function planSplit(rows: number, hidden: number, inner: number): number;
/** `x` is `[rows, inner]`, the weight `[hidden, inner]`; the norm of `x @ weight.T + bias + residual`, and the sum. */
export declare function splitKLinearKernel(dtype: HalfDType, hidden: number, parts: number): (rows: NumberLike, x: Tensor, weight: Tensor, bias: Tensor | null, residual: Tensor, norm: Tensor, eps: number) => readonly [normed: Tensor, sum: Tensor];
