/**
 * Linear maps by the faster of libtorch's two matrix libraries. MKL takes a slower path on AMD's processors, where oneDNN's
 * products are a tenth faster. The choice is by the processor, never by a measurement: the same machine computes the same bits.
 */
import { type Device, type DType, Tensor } from '../tensor/index.js';
export interface LinearOps {
    /** `x @ weight.T + bias`. A weight that does not require a gradient is not given one. */
    linear(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor;
    /** `x @ weight.T` where nothing is differentiated. */
    product(x: Tensor, weight: Tensor): Tensor;
}
/** For weights of one device and dtype; they exist when a model is recorded, its activations do not. */
export declare function linearOps({ device, dtype }: {
    device: Device;
    dtype: DType;
}): LinearOps;
