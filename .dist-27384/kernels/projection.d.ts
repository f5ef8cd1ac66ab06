/** What the kernels of Hopper's projections have in common (projection.cuh), and how they read the weight of a gated one. */
import type { Tensor } from '../tensor/index.js';
/** What projection.cuh asks for: a product so wide. Its instruction names every register of a thread's share. */
export declare function productDefines(columns: number): Record<string, string | number>;
/** A weight of `features` gates, then as many ups, as eight gates and the eight ups that belong to them. */
export declare function gatePairs(weight: Tensor, features: number, inner: number): Tensor;
/** So many of its features at a time. */
export declare const gatePairsBox: (features: number) => readonly number[];
