/** AdamW of 16-bit parameters as a CUDA kernel (adamw.cu): half the memory traffic of casting, scaling, updating and casting back. */
import type { NumberLike } from './call.js'
import { Kernel, type KernelParameter } from './kernel.js'
import type { Tensor } from './tensor.js'

const THREADS = 256
/** Elements of `changed`. */
export const COUNTERS = 1024

interface AdamwParameter {
  parameter: Tensor
  /** float32: what is really trained. */
  copy: Tensor
  first: Tensor
  second: Tensor
  /** Updates so far, this one included; a float32 scalar on the device. */
  step: Tensor
  gradient: Tensor
  /** `COUNTERS` int64 on the device: the number of parameters that change is added to them, spread over all. */
  changed: Tensor
}

/** Numbers of a recorded program. The logarithms keep digits that float32 betas near 1 lose. */
export const rateNames = ['lr', 'beta1', 'beta2', 'logBeta1', 'logBeta2', 'eps', 'weightDecay'] as const
export type RecordedRates = Record<(typeof rateNames)[number], NumberLike>

const kernels = new Map<string, Kernel>()

function kernelFor(dtype: 'bfloat16' | 'float16'): Kernel {
  let kernel = kernels.get(dtype)
  if (!kernel) {
    const [elements, wide]: KernelParameter[] = [`tensor:${dtype}`, 'tensor:float32']
    const floats = Array<KernelParameter>(8).fill('float32')
    kernel = new Kernel({
      file: new URL('./adamw.cu', import.meta.url),
      entry: 'adamw_step',
      parameters: [elements!, wide!, wide!, wide!, elements!, wide!, 'tensor:int64', 'int64', ...floats],
      define: { T: dtype, THREADS, COUNTERS },
    })
    kernels.set(dtype, kernel)
  }
  return kernel
}

/** Launches the update of one parameter. */
export function adamwStep(given: AdamwParameter, scale: NumberLike, rates: RecordedRates): void {
  const { parameter, copy, first, second, step, gradient, changed } = given
  const { lr, beta1, beta2, logBeta1, logBeta2, eps, weightDecay } = rates
  const { numel, dtype } = parameter
  if (dtype !== 'bfloat16' && dtype !== 'float16')
    throw new TypeError(`the AdamW kernel is for 16-bit parameters, not ${dtype}`)
  const perVector = 8
  const threads = Math.floor(numel / perVector) + (numel % perVector)
  kernelFor(dtype).launch(
    { grid: [Math.max(1, Math.ceil(threads / THREADS))], block: [THREADS] },
    ...[parameter, copy, first, second, gradient.contiguous(), step, changed, numel, scale, lr],
    ...[beta1, beta2, logBeta1, logBeta2, eps, weightDecay],
  )
}
