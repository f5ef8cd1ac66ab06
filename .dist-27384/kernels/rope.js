/** Rotary positions as CUDA kernels (rope.cu). */
import { customFunction, dtypeBytes, Kernel } from '../tensor/index.js';
const THREADS = 256;
/** Half a head is made of whole 16-byte vectors. */
export function ropeFits(headDim, dtype) {
    return (headDim / 2) % (16 / dtypeBytes(dtype)) === 0;
}
export function ropeKernel(dtype, { rotated, rest, headDim }) {
    const elements = `tensor:${dtype}`;
    const total = rotated + rest;
    const vectors = (headDim / 2 / (16 / dtypeBytes(dtype))) * total;
    const kernel = (entry) => new Kernel({
        file: new URL('./rope.cu', import.meta.url),
        entry,
        parameters: [elements, 'tensor:float32', 'tensor:float32', elements, elements, 'int64', 'int32', 'int32'],
        define: { T: dtype, HALF: headDim / 2, THREADS },
    });
    const forward = kernel('rope_forward');
    const backward = kernel('rope_backward');
    const launch = (which, whole, cos, sin, first, remaining) => {
        const rows = cos.size(0);
        const grid = rows
            .mul(vectors)
            .add(THREADS - 1)
            .div(THREADS);
        which.launch({ grid: [grid], block: [THREADS] }, whole, cos, sin, first, remaining, rows, total, rotated);
    };
    return customFunction({
        inputs: ['tensor', 'tensor', 'tensor'],
        forward: (whole, cos, sin) => {
            // Refuses tables of another size, before the kernel reads past them.
            const [input, c, s] = [
                whole.reshape([cos.size(0), total * headDim]).contiguous(),
                cos.view([-1, headDim / 2]),
                sin.view([cos.size(0), headDim / 2]),
            ];
            const first = input.newEmpty([cos.size(0), rotated, headDim]);
            const remaining = input.newEmpty([cos.size(0), rest, headDim]);
            launch(forward, input, c, s, first, remaining);
            return { outputs: [first, remaining], saved: [c, s] };
        },
        backward: ({ saved: [cos, sin], gradients: [first, remaining] }) => {
            const found = first.newEmpty([cos.size(0), total * headDim]);
            launch(backward, found, cos, sin, first.contiguous(), remaining.contiguous());
            return [found, null, null];
        },
    });
}
//# sourceMappingURL=rope.js.map