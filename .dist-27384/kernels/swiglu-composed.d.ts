/** SwiGLU of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { type DType } from '../tensor/index.js';
import type { FusedOps } from './fused-ops.js';
/** The backward computes silu(gate) again rather than keeping it: a third less memory held between the passes. */
export declare function swigluComposed(dtype: DType): Pick<FusedOps, 'swiglu'>;
