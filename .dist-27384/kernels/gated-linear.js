/**
 * SwiGLU of a projection of many rows as a CUDA kernel for Hopper (gated-linear.cu): what libtorch's product and ours behind it
 * compute, without the way of gates and ups through memory. It knows no gradient.
 */
import { Kernel } from '../tensor/index.js';
import { memoized } from './memoized.js';
import { PERSISTENT_FEATURES, persistentGemmDefines, persistentGemmLaunch, WIDE_ROWS } from './persistent-gemm.js';
import { gatePairs, gatePairsBox } from './projection.js';
/** Whether there are enough rows, of a kind that the kernel takes, that it is the faster one. */
export function gatedLinearFits(rows, { hidden, intermediate }, dtype, { capability, multiprocessors }) {
    const tiles = Math.ceil(rows / WIDE_ROWS) * Math.ceil((2 * intermediate) / PERSISTENT_FEATURES);
    return (dtype === 'bfloat16' &&
        Math.floor(Number(capability)) === 9 &&
        hidden % 8 === 0 &&
        intermediate % 8 === 0 &&
        tiles >= 2 * multiprocessors);
}
export function gatedLinearKernel(multiprocessors) {
    const kernel = memoized((inner) => new Kernel({
        file: new URL('./gated-linear.cu', import.meta.url),
        entry: 'gated_linear',
        parameters: [
            { tiles: 'bfloat16', box: gatePairsBox(PERSISTENT_FEATURES) },
            { tiles: 'bfloat16', box: [WIDE_ROWS, 64] },
            ...['tensor:float32', 'tensor:bfloat16', 'tensor:bfloat16', 'int32', 'int32'],
        ],
        define: persistentGemmDefines(inner),
    }));
    const shape = { grid: [multiprocessors], ...persistentGemmLaunch(PERSISTENT_FEATURES / 2) };
    return (x, weight, given) => {
        const { features, inner } = given ?? { features: weight.shape[0] / 2, inner: weight.shape[1] };
        const rows = x.size(0);
        const out = x.newEmpty([rows, features]);
        const pairs = gatePairs(weight, features, inner);
        kernel(inner).launch(shape, pairs, x, given?.factors ?? null, out, given?.gateUp ?? null, rows, features);
        return out;
    };
}
//# sourceMappingURL=gated-linear.js.map