/** What the kernels over persistent-gemm.cuh have in common. */
import { productDefines } from './projection.js'

/** Of a tile: rows, and the weight's features. */
export const [WIDE_ROWS, PERSISTENT_FEATURES] = [128, 256]
/** Tiles of the inner dimension on their way at once. */
const STAGES = 4

export const persistentGemmDefines = (inner: number): Record<string, string | number> => ({
  T: 'bfloat16',
  STAGES,
  CHUNKS: Math.ceil(inner / 64),
  ...productDefines(PERSISTENT_FEATURES),
})

/** `width`: elements of an output row of a tile. Half of its rows are in shared memory before they are written. */
export const persistentGemmLaunch = (width: number) =>
  ({
    block: [288],
    // Tiles start at multiples of 1,024 bytes.
    sharedBytes: STAGES * (WIDE_ROWS + PERSISTENT_FEATURES) * 128 + 1024 + (WIDE_ROWS / 2) * (width + 8) * 2,
    overlap: true,
  }) as const
