/** A projection of many rows, each times a factor, as a CUDA kernel for Hopper (scaled-linear.cu). It knows no gradient. */
import { Kernel } from '../tensor/index.js';
import { memoized } from './memoized.js';
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js';
export function scaledLinearKernel(multiprocessors) {
    const kernel = memoized((inner) => new Kernel({
        file: new URL('./scaled-linear.cu', import.meta.url),
        entry: 'scaled_linear',
        parameters: [
            { tiles: 'bfloat16', box: [PERSISTENT_FEATURES, 64] },
            { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
            ...['tensor:float32', 'tensor:bfloat16', 'tensor:bfloat16', 'int32', 'int32'],
        ],
        define: persistentGemmDefines(inner),
    }));
    const shape = { grid: [multiprocessors], ...persistentGemmLaunch(PERSISTENT_FEATURES) };
    return (x, { weight, bias, factors, features, inner }) => {
        const rows = x.size(0);
        const out = x.newEmpty([rows, features]);
        kernel(inner).launch(shape, weight, x, factors, bias, out, rows, features);
        return out;
    };
}
//# sourceMappingURL=scaled-linear.js.map