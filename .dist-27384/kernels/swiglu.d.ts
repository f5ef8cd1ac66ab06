/** SwiGLU as CUDA kernels (swiglu.cu). */
import { type Tensor } from '../tensor/index.js';
import type { FusedDType, FusedOps } from './fused-ops.js';
export interface SwigluKernel extends Pick<FusedOps, 'swiglu'> {
    /** The gradient of `gateUp`; of rows with `factors`, float32 `[rows]`, times them. */
    backward(gradient: Tensor, gateUp: Tensor, factors: Tensor | null): Tensor;
}
export declare function swigluKernel(dtype: FusedDType): SwigluKernel;
