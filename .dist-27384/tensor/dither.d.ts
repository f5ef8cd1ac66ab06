import type { Tensor } from './tensor.js';
/**
 * Fills `master` (float32, of the weight's shape). The random numbers depend on the seed, the name and an element's index alone:
 * not on the device, nor on where the weight is stored. Zeros stay zero; infinities and NaN have no cell. Both tensors are
 * contiguous and start at a multiple of 16 bytes.
 */
export declare function dither(weight: Tensor, master: Tensor, { seed, name }: {
    seed: number;
    name: string;
}): void;
