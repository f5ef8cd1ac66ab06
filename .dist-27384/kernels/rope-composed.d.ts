/** Rotary positions of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { type DType } from '../tensor/index.js';
import type { HeadShape, Rope } from './fused-ops.js';
export declare function ropeComposed(dtype: DType, { rotated, rest, headDim }: HeadShape): Rope;
