/**
 * Pieces of a model that are worth a kernel of their own: what libtorch would do in several passes over memory, in one. On
 * CUDA they are kernels compiled at first use, elsewhere the same composed of operators (`*-composed.ts`).
 */
import { type Device, type DType, type NumberLike, type Tensor } from '../tensor/index.js';
import { type DropoutOps } from './dropout.js';
import { type LinearOps } from './linear.js';
export interface FusedOps extends LinearOps, DropoutOps {
    /** `x / rms(x) * weight` over the last dimension, which the weight has too. */
    rmsNorm(x: Tensor, weight: Tensor, eps: NumberLike): Tensor;
    /** The same of `sum = x + residual`; the sum goes on as the next residual. */
    addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: NumberLike): readonly [normed: Tensor, sum: Tensor];
    /** `silu(gate) * up` where the last dimension of `gateUp` is the gates, then the ups: `[..., 2n]` to `[..., n]`. */
    swiglu(gateUp: Tensor): Tensor;
    /** Rotary positions for heads of one shape. */
    rope(shape: HeadShape): Rope;
    /** For one size of vocabulary. */
    logprobs(vocabSize: number): LogprobOps;
}
/** How the heads of a fused projection are used: the first `rotated` are rotated, the `rest` are not. */
export interface HeadShape {
    rotated: number;
    rest: number;
    headDim: number;
}
/**
 * `[rows, (rotated + rest) * headDim]` to the rotated heads and the others, `[rows, heads, headDim]` each. `cos` and `sin`
 * are float32 `[rows, headDim / 2]`.
 */
export type Rope = (whole: Tensor, cos: Tensor, sin: Tensor) => readonly [rotated: Tensor, rest: Tensor];
/** Of a chunk of logits `[rows, vocabulary]` and the tokens, int64 `[rows]`; not differentiable by itself. */
export interface LogprobOps {
    /** Of logits times `inverseTemperature`; float32 `[rows]` each. `normalizer` is the logarithm of the softmax's sum. */
    score(logits: Tensor, targets: Tensor, inverseTemperature: NumberLike): {
        logprobs: Tensor;
        entropy: Tensor;
        normalizer: Tensor;
    };
    /** The gradient with respect to the logits, written over them. */
    gradient_(logits: Tensor, targets: Tensor, inverseTemperature: NumberLike, scored: {
        entropy: Tensor;
        normalizer: Tensor;
    }, dLogprobs: Tensor, dEntropy: Tensor | null): Tensor;
}
export type FusedDType = 'float32' | 'float16' | 'bfloat16';
/**
 * The fused operators for tensors of one device and dtype. Chosen once, by the model: a tensor of a recording has neither.
 * A tensor of another device or dtype is refused when the operator runs.
 *
 * ```ts
 * const ops = fusedOps({ device: 'cuda', dtype: 'bfloat16' })
 * const [normed, sum] = ops.addRmsNorm(x, residual, weight, 1e-6)
 * ```
 */
export declare function fusedOps({ device, dtype }: {
    device: Device;
    dtype: DType;
}): FusedOps;
