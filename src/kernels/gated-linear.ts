/**
 * SwiGLU of a projection of many rows as a CUDA kernel for Hopper (gated-linear.cu): what libtorch's product and ours behind it
 * compute, without the way of gates and ups through memory. It knows no gradient.
 */

import { type CudaDevice, Kernel, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js'
import { gatePairs, gatePairsBox } from './projection.js'

/** `silu(gate) * up` of `x @ weight.T`; the weight's features are the gates, then the ups. Any number of rows, also a program's. */
export type GatedLinear = (x: Tensor, weight: Tensor) => Tensor

/** Whether there are enough rows, of a kind that the kernel takes, that it is the faster one. */
export function gatedLinearFits(
  rows: number,
  { hidden, intermediate }: { hidden: number; intermediate: number },
  dtype: string,
  { capability, multiprocessors }: Pick<CudaDevice, 'capability' | 'multiprocessors'>,
): boolean {
  const tiles = Math.ceil(rows / WIDE_ROWS) * Math.ceil((2 * intermediate) / PERSISTENT_FEATURES)
  return (
    dtype === 'bfloat16' &&
    Math.floor(Number(capability)) === 9 &&
    hidden % 8 === 0 &&
    intermediate % 8 === 0 &&
    tiles >= 2 * multiprocessors
  )
}

export function gatedLinearKernel(multiprocessors: number): GatedLinear {
  const kernel = memoized(
    (intermediate: number) =>
      new Kernel({
        file: new URL('./gated-linear.cu', import.meta.url),
        entry: 'gated_linear',
        parameters: [
          { tiles: 'bfloat16', box: gatePairsBox(PERSISTENT_FEATURES) },
          { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
          ...(['tensor:bfloat16', 'int32', 'int32'] as const),
        ],
        define: persistentGemmDefines(intermediate),
      }),
  )
  return (x, weight) => {
    const [features, intermediate] = weight.shape as [number, number]
    const rows = x.size(0)
    const out = x.newEmpty([rows, features / 2])
    const shape = { grid: [multiprocessors], ...persistentGemmLaunch(PERSISTENT_FEATURES / 2) } as const
    kernel(intermediate).launch(shape, gatePairs(weight), x, out, rows, features / 2)
    return out
  }
}
