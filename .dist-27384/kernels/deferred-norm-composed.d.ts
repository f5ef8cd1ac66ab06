/** The float32 stream and its norms of operators alone: what the CUDA kernels are measured against. */
import { type DType } from '../tensor/index.js';
import type { DeferredKernels } from './deferred-norm.js';
export declare function deferredNormComposed(dtype: DType): DeferredKernels;
