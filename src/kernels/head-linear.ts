/**
 * Logits and the sums that sampling needs, as a CUDA kernel for Hopper (head-linear.cu). Without it, sample.ts reads the logits a
 * second time. Padding rows have no sums.
 */

import { type CudaDevice, Kernel, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js'
import { logitSums, type SampleRows } from './sample.js'

export type HeadLinear = (
  x: Tensor,
  weight: Tensor,
  rows: Pick<SampleRows, 'count' | 'positions' | 'settings' | 'forbiddenOffsets' | 'forbidden'>,
) => { logits: Tensor; sums: Tensor }

/** Whether the kernel supports the rows, and they fill its tiles: then it is faster. */
export function headLinearFits(
  rows: number,
  { hidden, vocabSize }: { hidden: number; vocabSize: number },
  dtype: string,
  { capability }: Pick<CudaDevice, 'capability'>,
): boolean {
  return (
    rows > WIDE_ROWS &&
    Math.ceil(rows / WIDE_ROWS) * WIDE_ROWS - rows <= 48 &&
    dtype === 'bfloat16' &&
    Math.floor(Number(capability)) === 9 &&
    hidden % 8 === 0 &&
    vocabSize % 8 === 0
  )
}

export function headLinearKernel(multiprocessors: number): HeadLinear {
  const kernel = memoized(
    ({ vocabSize, intermediate }: { vocabSize: number; intermediate: number }) =>
      new Kernel({
        file: new URL('./head-linear.cu', import.meta.url),
        entry: 'head_linear',
        parameters: [
          { tiles: 'bfloat16', box: [PERSISTENT_FEATURES, 64] },
          { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
          ...(['tensor:bfloat16', 'tensor:int32', 'tensor:float32', 'tensor:int32', 'tensor:int32'] as const),
          ...(['tensor:float32', 'int32'] as const),
        ],
        define: { ...persistentGemmDefines(intermediate), VOCABULARY: vocabSize },
      }),
  )
  const grid = [multiprocessors - (multiprocessors % 2)] as const
  const shape = { grid, cluster: [2], ...persistentGemmLaunch(PERSISTENT_FEATURES) } as const
  return (x, weight, { count, positions, settings, forbiddenOffsets, forbidden }) => {
    const [vocabSize, intermediate] = weight.shape as [number, number]
    const logits = x.newEmpty([count, vocabSize])
    const sums = logitSums(logits, count, vocabSize)
    const rows = [positions, settings, forbiddenOffsets, forbidden]
    kernel({ vocabSize, intermediate }).launch(shape, ...[weight, x, logits, ...rows, sums, count])
    return { logits, sums }
  }
}
