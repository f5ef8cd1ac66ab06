/** AdamW of 16-bit parameters as a CUDA kernel (adamw.cu): half the memory traffic of casting, scaling, updating and casting back. */
import type { NumberLike } from './call.js'
import { Kernel, type KernelParameter } from './kernel.js'
import type { Tensor } from './tensor.js'

const THREADS = 256

export interface AdamwParameter {
  parameter: Tensor
  /** float32: what is really trained. */
  copy: Tensor
  first: Tensor
  second: Tensor
  /** Updates so far, this one included; a float32 scalar on the device. */
  step: Tensor
  gradient: Tensor
}

export interface AdamwRates {
  scale: NumberLike
  lr: NumberLike
  betas: readonly [number, number]
  eps: number
  weightDecay: number
}

const kernels = new Map<string, Kernel>()

function kernelFor(dtype: 'bfloat16' | 'float16'): Kernel {
  let kernel = kernels.get(dtype)
  if (!kernel) {
    const [elements, wide]: KernelParameter[] = [`tensor:${dtype}`, 'tensor:float32']
    const floats = Array<KernelParameter>(8).fill('float32')
    kernel = new Kernel({
      file: new URL('./adamw.cu', import.meta.url),
      entry: 'adamw_step',
      parameters: [elements!, wide!, wide!, wide!, elements!, wide!, 'int64', ...floats],
      define: { T: dtype, THREADS },
    })
    kernels.set(dtype, kernel)
  }
  return kernel
}

/** Launches the update of one parameter. */
export function adamwStep(given: AdamwParameter, rates: AdamwRates): void {
  const { parameter, copy, first, second, step, gradient } = given
  const { scale, lr, betas, eps, weightDecay } = rates
  const { numel, dtype } = parameter
  if (dtype !== 'bfloat16' && dtype !== 'float16')
    throw new TypeError(`the AdamW kernel is for 16-bit parameters, not ${dtype}`)
  const perVector = 8
  const threads = Math.floor(numel / perVector) + (numel % perVector)
  kernelFor(dtype).launch(
    { grid: [Math.max(1, Math.ceil(threads / THREADS))], block: [THREADS] },
    ...[parameter, copy, first, second, gradient.contiguous(), step, numel, scale, lr],
    ...[...betas, ...betas.map(Math.log), eps, weightDecay],
  )
}
