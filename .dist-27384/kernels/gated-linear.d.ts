/**
 * SwiGLU of a projection of many rows as a CUDA kernel for Hopper (gated-linear.cu): what libtorch's product and ours behind it
 * compute, without the way of gates and ups through memory. It knows no gradient.
 */
import { type CudaDevice, type Tensor } from '../tensor/index.js';
/**
 * `silu(gate) * up` of `x @ weight.T`, each row times its factor, float32 `[rows]`; the weight, `[2 * features, inner]`, is the
 * gates, then the ups. Any number of rows, also a program's. `given`: where rows have factors, or the weight is a program's too;
 * `gateUp` is room for gates and ups, rounded.
 */
export type GatedLinear = (x: Tensor, weight: Tensor, given?: {
    features: number;
    inner: number;
    factors: Tensor;
    gateUp?: Tensor;
}) => Tensor;
/** Whether there are enough rows, of a kind that the kernel takes, that it is the faster one. */
export declare function gatedLinearFits(rows: number, { hidden, intermediate }: {
    hidden: number;
    intermediate: number;
}, dtype: string, { capability, multiprocessors }: Pick<CudaDevice, 'capability' | 'multiprocessors'>): boolean;
export declare function gatedLinearKernel(multiprocessors: number): GatedLinear;
