/** The float32 stream and its norms as CUDA kernels for Hopper (deferred-norm.cu, scaled-linear.cu, gated-linear.cu, rms-norm.cu). */
import { type Device, type DType } from '../tensor/index.js';
import { type DeferredKernels, type DeferredOpsBySize } from './deferred-norm.js';
/** A shape of a decoder whose layers the kernels take. */
export interface DeferredShape {
    norms: 'before' | 'after';
    hidden: number;
    intermediate: number;
    heads: number;
    kvHeads: number;
    headDim: number;
}
/** Undefined where the device, the dtype or the model is not one for these kernels. */
export declare function deferredOpsFor(shape: DeferredShape, { device, dtype }: {
    device: Device;
    dtype: DType;
}): DeferredOpsBySize | undefined;
/** For a card with so many multiprocessors. Of few rows, libtorch's products are divided better among them. */
export declare function cudaKernels(multiprocessors: number, rowCount: 'many' | 'few'): DeferredKernels;
