/**
 * AdamW. A step is two programs on a thread of their own: the norms of the gradients, which are looked at before anything
 * changes, then clipping and the fused update. 16-bit parameters are updated through float32 copies.
 */
import { TensorError } from './errors.js';
import type { Tensor } from './tensor.js';
/** Parameters by name; the names are those of the saved state and of error messages. */
export type Parameters = ReadonlyMap<string, Tensor>;
/** The norm of a gradient is not finite, so the gradient is not, or it is too large for its square. No weight was changed. */
export declare class NonFiniteGradientError extends TensorError {
    readonly parameters: readonly string[];
    name: string;
    constructor(parameters: readonly string[]);
}
export interface Update {
    /** The global norm of the gradients, before clipping. */
    norm: number;
    /** What the gradients were multiplied with; 1 when they were not clipped. */
    scale: number;
    /** The share of 16-bit weights that this step changed; undefined where there are none. */
    changed: number | undefined;
}
export interface AdamWOptions {
    lr: number;
    /** Default 0.9 and 0.999. */
    betas?: readonly [number, number];
    /** Default 1e-8. */
    eps?: number;
    /** Decoupled: subtracts `lr * weightDecay * parameter`, apart from the gradient. Default 0. */
    weightDecay?: number;
}
export interface StepOptions {
    /** Multiplies every group's learning rate; what a schedule gives. */
    lrScale?: number;
    /** Gradients whose global norm is larger are scaled down to it. */
    clipNorm?: number;
    /** What the loss, and so every gradient, was multiplied with; the step divides by it. Default 1. */
    lossScale?: number;
    /** What replaces each group's options in this step, in the order of the groups. */
    groups?: readonly Partial<AdamWOptions>[];
}
/** What an update computes with. */
type Rates = Required<AdamWOptions>;
/**
 * The options with defaults in place. A number that is not one, or that float32 cannot hold, is a `RangeError`: it would
 * reach the weights.
 */
export declare function adamWRates(options: AdamWOptions): Rates;
/** `RangeError` for a bound that is none. */
export declare function checkClipNorm(clipNorm: number | undefined): void;
/** Parameters that share options. */
export interface ParameterGroup extends AdamWOptions {
    parameters: Parameters;
    /** float32 copies of 16-bit parameters to start from, by name; the optimiser's from then on. Default: made here. */
    masters?: Parameters;
}
/**
 * Adam with decoupled weight decay, by libtorch's fused operator; the numbers are PyTorch's.
 *
 * ```ts
 * const optimizer = new AdamW([{ parameters: weights, lr: 1e-3, weightDecay: 0.1 }, { parameters: norms, lr: 1e-3 }])
 * loss.backward()
 * const { norm } = await optimizer.step({ clipNorm: 1 })
 * optimizer.zeroGrad()
 * ```
 */
export declare class AdamW {
    private readonly groups;
    private readonly prepared;
    /** So few numbers on the CPU that a step takes less than handing it to another thread. */
    private readonly short;
    constructor(groups: readonly ParameterGroup[]);
    private prepare;
    /**
     * Applies the accumulated gradients. A gradient whose norm is not finite is refused before any weight changes; parameters
     * without a gradient are left alone. Gradients stay until `zeroGrad`.
     */
    step(options?: StepOptions): Promise<Update>;
    /** Drops the gradients; the next `backward` makes new ones. */
    zeroGrad(): void;
    /** The float32 copies of 16-bit parameters, by name: the optimiser's own. */
    masters(): Map<string, Tensor>;
    /**
     * Everything that `load` needs to continue exactly, float32 copies included, by name. The tensors are the optimiser's own:
     * write them out, do not dispose them.
     */
    state(): Map<string, Tensor>;
    load(saved: ReadonlyMap<string, Tensor>): void;
    dispose(): void;
}
export {};
