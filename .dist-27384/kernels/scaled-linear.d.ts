/** A projection of many rows, each times a factor, as a CUDA kernel for Hopper (scaled-linear.cu). It knows no gradient. */
import { type Tensor } from '../tensor/index.js';
/** `x @ weight.T`, each row times its factor, float32 `[rows]`, plus `bias`; the weight is `[features, inner]`. */
export type ScaledLinear = (x: Tensor, given: {
    weight: Tensor;
    bias: Tensor | null;
    factors: Tensor;
    features: number;
    inner: number;
}) => Tensor;
export declare function scaledLinearKernel(multiprocessors: number): ScaledLinear;
