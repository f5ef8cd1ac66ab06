import { type NumberLike } from './call.js';
import type { Tensor } from './tensor.js';
declare const letters: {
    readonly int32: 'i';
    readonly int64: 'l';
    readonly float32: 'f';
    readonly float64: 'd';
    readonly tensor: 't';
    readonly 'tensor:float32': 'F';
    readonly 'tensor:float16': 'H';
    readonly 'tensor:bfloat16': 'B';
    readonly 'tensor:float64': 'D';
    readonly 'tensor:int32': 'I';
    readonly 'tensor:int64': 'L';
    readonly 'tensor:uint8': 'U';
    readonly 'tensor:bool': 'O';
};
/**
 * A tensor that the kernel reads or writes tile by tile with Hopper's bulk copies: `const __grid_constant__ TensorMap`, where
 * `struct alignas(64) TensorMap { unsigned long long opaque[16]; }`. It is a map of the tensor as it is when launched, views
 * and permutations included: the last dimension has stride 1, the other strides are multiples of 16 bytes.
 */
export interface Tiles {
    tiles: 'bfloat16' | 'float16';
    /**
     * How much of each dimension a copy moves, outermost first (the coordinates of the instruction come innermost first). The
     * last is 64: rows of 128 bytes, which lie in shared memory in the 128-byte swizzle. Outside the tensor are zeros.
     */
    box: readonly number[];
}
/**
 * A number by value, or a pointer to a tensor's elements; `tensor:bfloat16` refuses any other dtype when it is launched. Or a
 * map of a tensor's tiles.
 */
export type KernelParameter = keyof typeof letters | Tiles;
export interface Launch {
    grid: readonly [NumberLike, NumberLike?, NumberLike?];
    block: readonly [NumberLike, NumberLike?, NumberLike?];
    sharedBytes?: NumberLike;
    /** Blocks that run together and reach each other's shared memory: at most 8, from compute capability 9.0 on. */
    cluster?: readonly [number, number?, number?];
    /**
     * The kernel may start while the one in front of it in the stream still runs. All its threads wait (`griddepcontrol.wait`)
     * before they read what earlier kernels wrote or write what those may still read; and they wait in any case, because the
     * kernel behind counts on it. Ignored below compute capability 9.0, where the source leaves the instruction out.
     */
    overlap?: boolean;
}
/**
 * ```ts
 * const swiglu = new Kernel({
 *   file: new URL('./swiglu.cu', import.meta.url),
 *   entry: 'swiglu',
 *   parameters: ['tensor:bfloat16', 'tensor:bfloat16', 'int64'],
 * })
 * swiglu.launch({ grid: [1024], block: [256] }, x, y, n)
 * ```
 *
 * Tensors are contiguous, but for those in tiles, and start at a multiple of 16 bytes. Whether the kernel stays inside their
 * memory is its own affair.
 */
export declare class Kernel {
    private readonly ref;
    constructor(options: {
        file: URL;
        entry: string;
        parameters: readonly KernelParameter[];
        /** Put in front of the source as `#define`. */
        define?: Readonly<Record<string, string | number>>;
    });
    launch(shape: Launch, ...parameters: (Tensor | NumberLike | null)[]): void;
}
/** What the compiler sees; its messages name the lines of the files as they are. @internal */
export declare function kernelSource(file: string, define: Readonly<Record<string, string | number>>): string;
export {};
