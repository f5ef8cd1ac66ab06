/** A projection of many rows, each times a factor, as a CUDA kernel for Hopper (scaled-linear.cu). It has no gradient. */

import { Kernel, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js'

/** `x @ weight.T`, each row times its factor, float32 `[rows]`, plus `bias`; the weight is `[features, inner]`. */
type ScaledLinear = (
  x: Tensor,
  given: { weight: Tensor; bias: Tensor | null; factors: Tensor; features: number; inner: number },
) => Tensor

export function scaledLinearKernel(multiprocessors: number): ScaledLinear {
  const kernel = memoized(
    (inner: number) =>
      new Kernel({
        file: new URL('./scaled-linear.cu', import.meta.url),
        entry: 'scaled_linear',
        parameters: [
          { tiles: 'bfloat16', box: [PERSISTENT_FEATURES, 64] },
          { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
          ...(['tensor:float32', 'tensor:bfloat16', 'tensor:bfloat16', 'int32', 'int32'] as const),
        ],
        define: persistentGemmDefines(inner),
      }),
  )
  const shape = { grid: [multiprocessors], ...persistentGemmLaunch(PERSISTENT_FEATURES) } as const
  return (x, { weight, bias, factors, features, inner }) => {
    const rows = x.size(0)
    const out = x.newEmpty([rows, features])
    kernel(inner).launch(shape, weight, x, factors, bias, out, rows, features)
    return out
  }
}
