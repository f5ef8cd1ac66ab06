/**
 * The parts of a decoder over a stream that is kept in float32, with norms whose factor is left to the products behind them:
 * differentiable, whatever computes them. 16-bit numbers are then only what a product reads and what attention does; where sums
 * are rounded is the same for a training pass over whole sequences and for a step over next tokens, so their results are
 * as close as 16-bit products are.
 */
import { type NumberLike, type Tensor } from '../tensor/index.js';
/** A norm without its factor: rows times the norm's weight, rounded, and the factors, float32 `[rows]`. */
export interface DeferredNorm {
    values: Tensor;
    rstd: Tensor;
}
/** What computes the parts. Nothing here knows gradients, and a shape is known when it is recorded. */
export interface DeferredKernels {
    /** The norm of the stream plus `added`, float32 `[1, rows, hidden]`, where there is any. */
    norm(given: {
        added: Tensor | null;
        stream: Tensor;
        weight: Tensor;
        hidden: number;
        eps: NumberLike;
    }): DeferredNorm & {
        sum: Tensor;
    };
    /** The norm of the stream plus `x @ weight.T + bias`; the inner dimension may be divided into parts. */
    join(x: Tensor, given: {
        weight: Tensor;
        bias: Tensor | null;
        parts: number;
        stream: Tensor;
        norm: Tensor;
        hidden: number;
        inner: number;
        eps: NumberLike;
    }): DeferredNorm & {
        sum: Tensor;
    };
    /**
     * `gradient` is that of a norm's `values`; the factors' share of it is found here. Gradients of the stream, in float32 and
     * rounded, and of the norm's weight.
     */
    normBackward(given: {
        gradient: Tensor;
        sum: Tensor;
        weight: Tensor;
        rstd: Tensor;
        /** What arrives at the sum itself; null: nothing. */
        sumGradient: Tensor | null;
        hidden: number;
    }): {
        stream: Tensor;
        rounded: Tensor;
        weight: Tensor;
    };
    /** `x @ weight.T + bias` of a norm. */
    linear(x: DeferredNorm, given: {
        weight: Tensor;
        bias: Tensor | null;
        features: number;
        inner: number;
    }): Tensor;
    /** `silu(gate) * up` of a norm's product; `gateUp`, rounded, where it is to be kept. */
    gated(x: DeferredNorm, given: {
        weight: Tensor;
        features: number;
        inner: number;
        keep: boolean;
    }): {
        out: Tensor;
        gateUp: Tensor | null;
    };
    /** The gradient of gates and ups, times the rows' factors. */
    gatedBackward(gradient: Tensor, gateUp: Tensor, rstd: Tensor): Tensor;
    /** Rows times factors. */
    scaleRows(x: Tensor, rstd: Tensor, width: number): Tensor;
}
/** Differentiable; weights exist when they are recorded. One that does not require a gradient is not given one. */
export interface DeferredOps {
    /** The norm of a float32 stream. */
    norm(stream: Tensor, weight: Tensor, eps: number): DeferredNorm;
    /** The stream plus `x @ weight.T + bias`, and the norm of that. `parts`: into how many the inner dimension is divided. */
    join(x: Tensor, given: {
        weight: Tensor;
        bias: Tensor | null;
        residual: Tensor;
        norm: Tensor;
        parts?: number;
    }, eps: number): {
        residual: Tensor;
        normed: DeferredNorm;
    };
    /** The stream plus `x`, and the norm of that. */
    add(x: Tensor, given: {
        residual: Tensor;
        norm: Tensor;
    }, eps: number): {
        residual: Tensor;
        normed: DeferredNorm;
    };
    linear(x: DeferredNorm, weight: Tensor, bias: Tensor | null): Tensor;
    /** `silu(gate) * up`. `gradients`: whether they are recorded. */
    gated(x: DeferredNorm, weight: Tensor, gradients: 'recorded' | 'none'): Tensor;
    /** The whole norm. */
    rows(x: DeferredNorm, width: number): Tensor;
}
/** Each is faster for its number of rows; what they compute is the same but for the order of sums. */
export interface DeferredOpsBySize {
    many: DeferredOps;
    few: DeferredOps;
}
/** Only products with weights read a norm's `values`, and all of them multiply by its factor: its gradient has been through that. */
export declare function deferredOps(kernels: DeferredKernels): DeferredOps;
