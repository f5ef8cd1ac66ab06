import { GeneratorRef } from './call.js';
import { type Device } from './dtype.js';
import { Tensor } from './tensor.js';
/** Seeds the generators that operators use when they are given none, on every device. */
export declare function manualSeed(seed: number | bigint): void;
/**
 * A stream of random numbers of its own.
 *
 * ```ts
 * const generator = new RandomGenerator({ seed: 7 })
 * const noise = randn([2, 3], { generator })
 * ```
 */
export declare class RandomGenerator extends GeneratorRef {
    readonly device: Device;
    constructor(options: {
        seed: number | bigint;
        device?: Device;
    });
    /** A copy of its state, to continue the stream from here later. The caller disposes it. */
    state(): Tensor;
    setState(state: Tensor): void;
    dispose(): void;
    [Symbol.dispose](): void;
}
