/**
 * Dropout whose mask is a function of where an element belongs, not of a generator's state: it is the same whatever else is
 * in the batch, however the batch was split, and when a pass is computed again. An operator of our own on the CPU
 * (native/dropout.cc), a kernel with the same bits on CUDA (dropout.cu).
 */
import { type Device, type DType, type Tensor } from '../tensor/index.js';
export interface DropoutOps {
    /**
     * Drops a fraction `rate` of the elements of `x`, `[rows, columns]`, and scales the others by `1 / (1 - rate)`. `keys` is
     * int32 `[rows, 4]`: seed, step, sequence and position of each row. `stream` tells places in a model apart.
     */
    dropout(x: Tensor, keys: Tensor, options: {
        stream: number;
        rate: number;
    }): Tensor;
}
export declare function dropoutOps({ device, dtype }: {
    device: Device;
    dtype: DType;
}): DropoutOps;
