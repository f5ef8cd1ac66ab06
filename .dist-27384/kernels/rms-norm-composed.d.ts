/** RMSNorm of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { type DType } from '../tensor/index.js';
import type { FusedOps } from './fused-ops.js';
/**
 * The backward is written by hand because autograd of the composition keeps and reads twice as much: here a row's scale is
 * saved instead of the normed row, and the sums over a row and over all rows share one product.
 */
export declare function rmsNormComposed(dtype: DType): Pick<FusedOps, 'rmsNorm' | 'addRmsNorm'>;
