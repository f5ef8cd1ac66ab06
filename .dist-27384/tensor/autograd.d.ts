/** Gradient mode, recomputation and hand-written gradients. */
import { type NumberLike, Sym } from './call.js';
import { type InputKind, type Recorded } from './program.js';
import { Tensor } from './tensor.js';
/** Runs `fn` without recording gradients. */
export declare function noGrad<T>(fn: () => T): T;
/** Runs `fn` with gradients recorded, inside `noGrad`. */
export declare function enableGrad<T>(fn: () => T): T;
export declare function isGradEnabled(): boolean;
/** A tensor or a number, in eager code and while recording. */
export type Given<K extends readonly InputKind[]> = {
    [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? NumberLike : Tensor | NumberLike;
};
/**
 * A part of a model that keeps only its inputs and is computed again when its gradient arrives, with the same random
 * numbers. Recorded when it is first called.
 *
 * ```ts
 * const block = checkpoint(['tensor'], x => x.matmul(up).silu().matmul(down))
 * const y = block(x)
 * ```
 */
export declare function checkpoint<const K extends readonly InputKind[], R extends Tensor | readonly Tensor[]>(kinds: K, fn: (...inputs: Recorded<K>) => R): (...inputs: Given<K>) => R;
/** What a hand-written forward returns: the function's results, and what its backward will need. */
export interface Forward<R extends Tensor | readonly Tensor[]> {
    outputs: R;
    saved: readonly Tensor[];
}
/**
 * A function with a hand-written backward. Both are recorded when it is first called, so neither may look at values.
 * `backward` gets what `forward` saved, a gradient for each output and the number inputs, and returns a gradient for each
 * tensor input (null: none).
 *
 * ```ts
 * const square = customFunction({
 *   inputs: ['tensor'],
 *   forward: x => ({ outputs: x.mul(x), saved: [x] }),
 *   backward: ({ saved: [x], gradients: [g] }) => [x!.mul(g!).mul(2)],
 * })
 * ```
 */
export declare function customFunction<const K extends readonly InputKind[], R extends Tensor | readonly Tensor[]>(definition: {
    inputs: K;
    forward: (...inputs: Recorded<K>) => Forward<R>;
    backward: (given: {
        saved: Tensor[];
        gradients: Tensor[];
        numbers: Sym[];
    }) => readonly (Tensor | null)[];
}): (...inputs: Given<K>) => R;
