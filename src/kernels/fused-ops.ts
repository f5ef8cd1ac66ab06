/**
 * Pieces of a model that are worth a kernel of their own: what libtorch would do in several passes over memory, in one. On
 * CUDA they are kernels compiled at first use, elsewhere the same composed of operators (`*-composed.ts`).
 */

import { ArgumentError, type Device, type DType, type NumberLike, type Tensor } from '../tensor/index.js'
import { type DropoutOps, dropoutOps } from './dropout.js'
import { type LinearOps, linearOps } from './linear.js'
import { logprobKernel } from './logprob.js'
import { logprobComposed } from './logprob-composed.js'
import { memoized } from './memoized.js'
import { rmsNormKernel } from './rms-norm.js'
import { rmsNormComposed } from './rms-norm-composed.js'
import { ropeFits, ropeKernel } from './rope.js'
import { ropeComposed } from './rope-composed.js'
import { swigluKernel } from './swiglu.js'
import { swigluComposed } from './swiglu-composed.js'

export interface FusedOps extends LinearOps, DropoutOps {
  /** `x / rms(x) * weight` over the last dimension, which the weight has too. */
  rmsNorm(x: Tensor, weight: Tensor, eps: NumberLike): Tensor
  /** The same of `sum = x + residual`; the sum goes on as the next residual. */
  addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: NumberLike): readonly [normed: Tensor, sum: Tensor]
  /** `silu(gate) * up` where the last dimension of `gateUp` is the gates, then the ups: `[..., 2n]` to `[..., n]`. */
  swiglu(gateUp: Tensor): Tensor
  /** Rotary positions for heads of one shape. */
  rope(shape: HeadShape): Rope
  /** For one size of vocabulary. */
  logprobs(vocabSize: number): LogprobOps
}

/** How the heads of a fused projection are used: the first `rotated` are rotated, the `rest` are not. */
export interface HeadShape {
  rotated: number
  rest: number
  headDim: number
}

/**
 * `[rows, (rotated + rest) * headDim]` to the rotated heads and the others, `[rows, heads, headDim]` each. `cos` and `sin`
 * are float32 `[rows, headDim / 2]`.
 */
export type Rope = (whole: Tensor, cos: Tensor, sin: Tensor) => readonly [rotated: Tensor, rest: Tensor]

/** Of a chunk of logits `[rows, vocabulary]` and the tokens, int64 `[rows]`; not differentiable by itself. */
export interface LogprobOps {
  /** Of logits times `inverseTemperature`; float32 `[rows]` each. `normalizer` is the logarithm of the softmax's sum. */
  score(
    logits: Tensor,
    targets: Tensor,
    inverseTemperature: NumberLike,
  ): { logprobs: Tensor; entropy: Tensor; normalizer: Tensor }
  /** The gradient with respect to the logits, written over them. */
  gradient_(
    logits: Tensor,
    targets: Tensor,
    inverseTemperature: NumberLike,
    scored: { entropy: Tensor; normalizer: Tensor },
    dLogprobs: Tensor,
    dEntropy: Tensor | null,
  ): Tensor
}

export type FusedDType = 'float32' | 'float16' | 'bfloat16'

const made = new Map<string, FusedOps>()

/**
 * The fused operators for tensors of one device and dtype. Chosen once, by the model: a tensor of a recording has neither.
 * A tensor of another device or dtype is refused when the operator runs.
 *
 * ```ts
 * const ops = fusedOps({ device: 'cuda', dtype: 'bfloat16' })
 * const [normed, sum] = ops.addRmsNorm(x, residual, weight, 1e-6)
 * ```
 */
export function fusedOps({ device, dtype }: { device: Device; dtype: DType }): FusedOps {
  const kernels = device !== 'cpu' && dtype !== 'float64' // float64 is for checking numbers, not for speed
  const key = `${device === 'cpu'} ${dtype}`
  let ops = made.get(key)
  if (!ops) {
    ops = { ...make(kernels, dtype), ...linearOps({ device, dtype }), ...dropoutOps({ device, dtype }) }
    made.set(key, ops)
  }
  return ops
}

function make(kernels: boolean, dtype: DType): Omit<FusedOps, keyof LinearOps | keyof DropoutOps> {
  if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'bfloat16' && dtype !== 'float64')
    throw new ArgumentError(`fused operators are for floating-point dtypes, not ${dtype}`)
  const composed = {
    ...rmsNormComposed(dtype),
    ...swigluComposed(dtype),
    rope: memoized((shape: HeadShape) => ropeComposed(dtype, shape)),
    logprobs: () => logprobComposed(dtype),
  }
  if (!kernels || dtype === 'float64') return composed
  return {
    ...rmsNormKernel(dtype, composed),
    swiglu: swigluKernel(dtype).swiglu,
    rope: memoized((shape: HeadShape) =>
      ropeFits(shape.headDim, dtype) ? ropeKernel(dtype, shape) : ropeComposed(dtype, shape),
    ),
    logprobs: memoized((vocabSize: number) => logprobKernel(dtype, vocabSize)),
  }
}
