/** What the kernels over persistent-gemm.cuh have in common. */
import { productDefines } from './projection.js';
/** Of a tile: rows, and the weight's features. */
export const [WIDE_ROWS, PERSISTENT_FEATURES] = [128, 256];
/** Tiles of the inner dimension on their way at once. */
const STAGES = 4;
export const persistentGemmDefines = (inner) => ({
    T: 'bfloat16',
    STAGES,
    CHUNKS: Math.ceil(inner / 64),
    ...productDefines(PERSISTENT_FEATURES),
});
/** `width`: elements of a row of what comes out of a tile, half of whose rows lie in shared memory before they leave. */
export const persistentGemmLaunch = (width) => ({
    block: [288],
    // Tiles start at multiples of 1,024 bytes.
    sharedBytes: STAGES * (WIDE_ROWS + PERSISTENT_FEATURES) * 128 + 1024 + (WIDE_ROWS / 2) * (width + 8) * 2,
    overlap: true,
});
//# sourceMappingURL=persistent-gemm.js.map