import { inspect } from 'node:util';
import { type NumberLike } from './call.js';
import { type ArrayOf, type Device, type DType, type TypedArray } from './dtype.js';
import { TensorOperators } from './operators.generated.js';
/** A position, a range `[start, end]` (either may be undefined, `end` exclusive), every element, or a tensor of indices or mask. */
export type Index = NumberLike | readonly [NumberLike | undefined, NumberLike | undefined] | 'all' | 'new' | Tensor;
type NestedNumbers = number | bigint | boolean | readonly NestedNumbers[];
/**
 * A tensor in libtorch's memory. Operators are methods (`a.matmul(b)`) or functions (`cat([a, b])`), named as in PyTorch in
 * camelCase, in-place ones with a trailing underscore. See `scope` for who frees it.
 *
 * ```ts
 * const a = Tensor.from([[1, 2], [3, 4]], { requiresGrad: true })
 * a.mul(a).sum().backward()
 * a.grad?.tolist() // [[2, 4], [6, 8]]
 * ```
 */
export declare class Tensor extends TensorOperators {
    /** Wraps a native handle; it then has an owner. @internal */
    static adopt(ref: number): Tensor;
    /**
     * From a typed array (one copy, into libtorch's memory), or from nested arrays of numbers. Numbers are float32, bigints
     * int64, booleans bool, unless `dtype` says otherwise.
     */
    static from(data: TypedArray | NestedNumbers, options?: {
        shape?: readonly number[];
        dtype?: DType;
        device?: Device;
        requiresGrad?: boolean;
    }): Tensor;
    /** Memory that is not filled. */
    static empty(shape: readonly number[], options?: {
        dtype?: DType;
        device?: Device;
    }): Tensor;
    /** Its native handle, which a recorded value has not. */
    private handle;
    private meta;
    get shape(): number[];
    get dtype(): DType;
    get device(): Device;
    get isLeaf(): boolean;
    get isContiguous(): boolean;
    /** The number of elements. */
    get numel(): number;
    /** The bytes its elements take; a view counts its own elements. */
    get nbytes(): number;
    get isDisposed(): boolean;
    /** The length of a dimension; a value of the program while one is recorded. */
    size(dim: number): number;
    size(dim: NumberLike): NumberLike;
    get requiresGrad(): boolean;
    set requiresGrad(on: boolean);
    /** The gradient that `backward` accumulated here. The caller owns what this returns; the gradient itself stays. */
    get grad(): Tensor | undefined;
    set grad(value: Tensor | undefined);
    /** Adds the gradient of this tensor (a scalar, or with `gradient` given) to `grad` of every leaf it was computed from. */
    backward(gradient?: Tensor, options?: {
        retainGraph?: boolean;
    }): void;
    /** On another device, or of another dtype; itself, as a new handle, when nothing changes. */
    to(device: Device | undefined, dtype?: DType): Tensor;
    /** A second handle on the same tensor, with an owner of its own. */
    alias(): Tensor;
    cast(dtype: DType): Tensor;
    /**
     * Its elements in a typed array (float16 and bfloat16 as their bits, int64 as bigints). Copied on a thread of its own, so
     * that waiting for a GPU does not stop the event loop.
     */
    data<D extends DType = DType>(): Promise<ArrayOf[D]>;
    /** Its elements copied into `target`, whose bytes must be as many; now, on this thread. */
    read<A extends TypedArray>(target: A): A;
    /** Its elements in a new typed array; now, on this thread. */
    toArray<D extends DType = DType>(): ArrayOf[D];
    /** The only element of a one-element tensor, as a number; now, on this thread. */
    item(): number;
    /** Nested arrays of numbers, for looking at small tensors. */
    tolist(): unknown;
    /**
     * Its memory, without a copy: writing here writes the tensor. Only for a contiguous tensor on the CPU. The memory lives as
     * long as the view, even if the tensor is disposed before it, and can no longer be resized.
     */
    bytes(): Uint8Array;
    /**
     * Part of the tensor, dimension by dimension: a number takes one position and drops the dimension, `[start, end]` a range,
     * `'all'` everything, `'new'` adds a dimension, a tensor picks by index or mask.
     *
     * ```ts
     * logits.at('all', -1)        // logits[:, -1]
     * x.at([0, 10], 'all', mask)  // x[:10, :, mask]
     * ```
     */
    at(...indices: Index[]): Tensor;
    /** How many dimensions it indexes: a mask as many as it has. A recorded one is taken for a list of positions. */
    private spans;
    /** Writes `value` into the part that `indices` name, as `at` would take it. */
    set(indices: readonly Index[], value: Tensor | number): this;
    /** Frees it now. Using it afterwards is an error that says so. */
    dispose(): void;
    [Symbol.dispose](): void;
    toString(): string;
    /** What console.log shows. */
    [inspect.custom](): string;
}
/**
 * Gradients of `outputs` (scalars, or with `gradients` given) with respect to `inputs`, undefined where an input had no part.
 * Nothing is accumulated.
 */
export declare function gradients(outputs: readonly Tensor[], inputs: readonly Tensor[], options?: {
    gradients?: readonly Tensor[];
    retainGraph?: boolean;
    createGraph?: boolean;
}): (Tensor | undefined)[];
export {};
