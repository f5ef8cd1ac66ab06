/**
 * Logits and what a token is drawn from as a CUDA kernel for Hopper (head-linear.cu): the sums that sample.ts would read the
 * logits for once more. Padding rows have none.
 */
import { Kernel } from '../tensor/index.js';
import { memoized } from './memoized.js';
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js';
import { logitSums } from './sample.js';
/** Whether there are so many rows that they fill its tiles, of a kind that the kernel takes: then it is the faster one. */
export function headLinearFits(rows, { hidden, vocabSize }, dtype, { capability }) {
    return (rows > WIDE_ROWS &&
        Math.ceil(rows / WIDE_ROWS) * WIDE_ROWS - rows <= 48 &&
        dtype === 'bfloat16' &&
        Math.floor(Number(capability)) === 9 &&
        hidden % 8 === 0 &&
        vocabSize % 8 === 0);
}
export function headLinearKernel(multiprocessors) {
    const kernel = memoized(({ vocabSize, intermediate }) => new Kernel({
        file: new URL('./head-linear.cu', import.meta.url),
        entry: 'head_linear',
        parameters: [
            { tiles: 'bfloat16', box: [PERSISTENT_FEATURES, 64] },
            { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
            ...['tensor:bfloat16', 'tensor:int32', 'tensor:float32', 'tensor:int32', 'tensor:int32'],
            ...['tensor:float32', 'int32'],
        ],
        define: { ...persistentGemmDefines(intermediate), VOCABULARY: vocabSize },
    }));
    const grid = [multiprocessors - (multiprocessors % 2)];
    const shape = { grid, cluster: [2], ...persistentGemmLaunch(PERSISTENT_FEATURES) };
    return (x, weight, { count, positions, settings, forbiddenOffsets, forbidden }) => {
        const [vocabSize, intermediate] = weight.shape;
        const logits = x.newEmpty([count, vocabSize]);
        const sums = logitSums(logits, count, vocabSize);
        const rows = [positions, settings, forbiddenOffsets, forbidden];
        kernel({ vocabSize, intermediate }).launch(shape, ...[weight, x, logits, ...rows, sums, count]);
        return { logits, sums };
    };
}
//# sourceMappingURL=head-linear.js.map