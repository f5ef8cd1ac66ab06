/**
 * Pieces of a model that are worth a kernel of their own: what libtorch would do in several passes over memory, in one. On
 * CUDA they are kernels compiled at first use, elsewhere their twins made of operators.
 */
import type { NumberLike } from '../call.js'
import type { Device, DType } from '../dtype.js'
import { ArgumentError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { rmsNormKernel } from './rms-norm.js'
import { rmsNormTwin } from './rms-norm-twin.js'
import { swigluKernel } from './swiglu.js'
import { swigluTwin } from './swiglu-twin.js'

export interface FusedOps {
  /** `x / rms(x) * weight` over the last dimension, which the weight has too. */
  rmsNorm(x: Tensor, weight: Tensor, eps: NumberLike): Tensor
  /** The same of `sum = x + residual`; the sum goes on as the next residual. */
  addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: NumberLike): readonly [normed: Tensor, sum: Tensor]
  /** `silu(gate) * up` where the last dimension of `gateUp` is the gates, then the ups: `[..., 2n]` to `[..., n]`. */
  swiglu(gateUp: Tensor): Tensor
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
  const key = `${kernels} ${dtype}`
  let ops = made.get(key)
  if (!ops) {
    ops = make(kernels, dtype)
    made.set(key, ops)
  }
  return ops
}

function make(kernels: boolean, dtype: DType): FusedOps {
  if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'bfloat16' && dtype !== 'float64')
    throw new ArgumentError(`fused operators are for floating-point dtypes, not ${dtype}`)
  const twin = { ...rmsNormTwin(dtype), ...swigluTwin(dtype) }
  if (!kernels || dtype === 'float64') return twin
  return { ...rmsNormKernel(dtype, twin), ...swigluKernel(dtype) }
}
