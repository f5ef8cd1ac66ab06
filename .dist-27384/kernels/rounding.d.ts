/** References compute as the kernels do: 16-bit elements in float32, rounded once at the end. */
import type { DType, Tensor } from '../tensor/index.js';
export declare function rounding(dtype: DType): {
    widen: (x: Tensor) => Tensor;
    narrow: (x: Tensor) => Tensor;
};
