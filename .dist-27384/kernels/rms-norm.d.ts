/** RMSNorm, with or without the residual add before it, as CUDA kernels (rms-norm.cu). */
import { type Tensor } from '../tensor/index.js';
import type { FusedDType, FusedOps } from './fused-ops.js';
type Norms = Pick<FusedOps, 'rmsNorm' | 'addRmsNorm'>;
/** How many threads hold a row of so many 16-byte vectors: one vector each up to a warp, then about four. */
export declare function threadsOfRow(vectors: number): number;
export declare function rmsNormKernel(dtype: FusedDType, composed: Norms): Norms;
/** Whole vectors, and a row in the registers of one block. */
export declare function fits(hidden: number, dtype: FusedDType): boolean;
/** The backward of a norm whose factor was left to those who read it (rms-norm.cu): over a float32 stream. */
export declare function normBackwardKernels(hidden: number): (given: {
    gradient: Tensor;
    sum: Tensor;
    weight: Tensor;
    rstd: Tensor;
    sumGradient: Tensor | null;
}) => {
    stream: Tensor;
    rounded: Tensor;
    weight: Tensor;
};
export {};
