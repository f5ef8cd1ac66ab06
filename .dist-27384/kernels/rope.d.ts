import type { FusedDType, HeadShape, Rope } from './fused-ops.js';
/** Half a head is made of whole 16-byte vectors. */
export declare function ropeFits(headDim: number, dtype: FusedDType): boolean;
export declare function ropeKernel(dtype: FusedDType, { rotated, rest, headDim }: HeadShape): Rope;
