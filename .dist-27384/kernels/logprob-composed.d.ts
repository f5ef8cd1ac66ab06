/** Log-probabilities over a chunk of logits of operators alone: what the CPU runs, and the CUDA kernels' measure. */
import type { DType } from '../tensor/index.js';
import type { LogprobOps } from './fused-ops.js';
export declare function logprobComposed(dtype: DType): LogprobOps;
