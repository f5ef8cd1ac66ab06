/** SwiGLU as CUDA kernels (swiglu.cu). */
import { customFunction, dtypeBytes, Kernel } from '../tensor/index.js';
const THREADS = 256;
const PER_THREAD = 2;
export function swigluKernel(dtype) {
    const elements = `tensor:${dtype}`;
    const kernel = (entry, parameters) => new Kernel({
        file: new URL('./swiglu.cu', import.meta.url),
        entry,
        parameters,
        define: { T: dtype, THREADS, PER_THREAD },
    });
    const forward = kernel('swiglu_forward', [elements, elements, 'int64', 'int32']);
    const backward = kernel('swiglu_backward', [elements, elements, 'tensor:float32', elements, 'int64', 'int32']);
    /** `out` is `[..., inner]`; `launch` gets what both kernels end with. */
    const over = (out) => {
        // Recorded, so these are values of the program.
        const inner = out.size(-1);
        const rows = out.flatten(0, -2).size(0);
        const perBlock = (16 / dtypeBytes(dtype)) * THREADS * PER_THREAD;
        const blocks = rows
            .mul(inner)
            .add(perBlock - 1)
            .div(perBlock);
        return { shape: { grid: [blocks], block: [THREADS] }, rows, inner };
    };
    const gradientOf = (gradient, gateUp, factors) => {
        const { shape, rows, inner } = over(gradient);
        const found = gateUp.emptyLike();
        backward.launch(shape, gradient.contiguous(), gateUp, factors, found, rows, inner);
        return found;
    };
    return {
        backward: gradientOf,
        swiglu: customFunction({
            inputs: ['tensor'],
            forward: gateUp => {
                const input = gateUp.contiguous();
                // Refuses an odd last dimension, whose halves would not be equal.
                const out = input.unflatten(-1, [2, -1]).select(-2, 0).emptyLike();
                const { shape, rows, inner } = over(out);
                forward.launch(shape, input, out, rows, inner);
                return { outputs: out, saved: [input] };
            },
            backward: ({ saved: [gateUp], gradients: [gradient] }) => [gradientOf(gradient, gateUp, null)],
        }),
    };
}
//# sourceMappingURL=swiglu.js.map