import type { InferTensor } from './open-inference.js';
/** Texts as raw bytes: each with its length, in 4 bytes, before it. */
export declare function rawTexts(texts: readonly string[]): Buffer;
export declare function rawInt64(numbers: ArrayLike<number>): Buffer;
/** A tensor's numbers, from its raw bytes where there are some. */
export declare function readNumbers(tensor: InferTensor, raw: Uint8Array | undefined): number[];
