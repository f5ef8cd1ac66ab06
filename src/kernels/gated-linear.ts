/**
 * SwiGLU of a projection of many rows as a CUDA kernel for Hopper (gated-linear.cu). It fuses libtorch's product with our SwiGLU, so
 * that gates and ups do not go through memory. It has no gradient.
 */

import { type CudaDevice, Kernel, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js'
import { gatePairs, gatePairsBox } from './projection.js'

/**
 * `silu(gate) * up` of `x @ weight.T`, each row times its factor, float32 `[rows]`; the weight, `[2 * features, inner]`, is the
 * gates, then the ups. Any number of rows, also a program's. `given`: where rows have factors, or the weight is a program's too;
 * `gateUp` is room for gates and ups, rounded.
 */
export type GatedLinear = (
  x: Tensor,
  weight: Tensor,
  given?: { features: number; inner: number; factors: Tensor; gateUp?: Tensor },
) => Tensor

/** Whether the kernel supports the rows, and there are enough of them for it to be faster. */
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
    (inner: number) =>
      new Kernel({
        file: new URL('./gated-linear.cu', import.meta.url),
        entry: 'gated_linear',
        parameters: [
          { tiles: 'bfloat16', box: gatePairsBox(PERSISTENT_FEATURES) },
          { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
          ...(['tensor:float32', 'tensor:bfloat16', 'tensor:bfloat16', 'int32', 'int32'] as const),
        ],
        define: persistentGemmDefines(inner),
      }),
  )
  const shape = { grid: [multiprocessors], ...persistentGemmLaunch(PERSISTENT_FEATURES / 2) } as const
  return (x, weight, given) => {
    const { features, inner } = given ?? { features: weight.shape[0]! / 2, inner: weight.shape[1]! }
    const rows = x.size(0)
    const out = x.newEmpty([rows, features])
    const pairs = gatePairs(weight, features, inner)
    kernel(inner).launch(shape, pairs, x, given?.factors ?? null, out, given?.gateUp ?? null, rows, features)
    return out
  }
}
