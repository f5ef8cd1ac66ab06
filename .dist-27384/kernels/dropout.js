/**
 * Dropout whose mask is a function of where an element belongs, not of a generator's state: it is the same whatever else is
 * in the batch, however the batch was split, and when a pass is computed again. An operator of our own on the CPU
 * (native/dropout.cc), a kernel with the same bits on CUDA (dropout.cu).
 */
import { callOperator, customFunction, dtypeBytes, Kernel, } from '../tensor/index.js';
export function dropoutOps({ device, dtype }) {
    const drop = device === 'cpu' ? dropOnCpu : dtype === 'float64' ? dropWide(cudaDrop('float32')) : cudaDrop(dtype);
    const differentiable = customFunction({
        inputs: ['tensor', 'tensor', 'number', 'number', 'number'],
        forward: (x, keys, stream, threshold, factor) => ({
            outputs: drop(x, keys, stream, threshold, factor),
            saved: [keys],
        }),
        backward: ({ saved: [keys], gradients: [gradient], numbers: [stream, threshold, factor] }) => [
            drop(gradient, keys, stream, threshold, factor),
            null,
        ],
    });
    return {
        dropout: (x, keys, { stream, rate }) => differentiable(x, keys, stream, Math.round(rate * 2 ** 32), 1 / (1 - rate)),
    };
}
const dropOnCpu = (x, keys, stream, threshold, factor) => callOperator('whetstone::dropout', x, keys, stream, threshold, factor);
const THREADS = 256;
function cudaDrop(dtype) {
    if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'bfloat16')
        throw new TypeError(`the dropout kernel is for floating-point tensors, not ${dtype}`);
    const kernel = new Kernel({
        file: new URL('./dropout.cu', import.meta.url),
        entry: 'dropout_rows',
        parameters: [
            ...[`tensor:${dtype}`, 'tensor:int32', `tensor:${dtype}`],
            ...['int64', 'int32', 'int32', 'int64', 'float32'],
        ],
        define: { T: dtype, THREADS },
    });
    const perVector = 16 / dtypeBytes(dtype);
    return (x, keys, stream, threshold, factor) => {
        const input = x.contiguous();
        const out = input.emptyLike();
        // Recorded, so these are values of the program.
        const [rows, columns] = [input.size(0), input.size(1)];
        const vectors = columns
            .add(perVector - 1)
            .div(perVector)
            .mul(rows);
        const grid = [vectors.add(THREADS - 1).div(THREADS)];
        kernel.launch({ grid, block: [THREADS] }, input, keys, out, rows, columns, stream, threshold, factor);
        return out;
    };
}
/** By the mask of another dtype. */
function dropWide(drop) {
    return (x, keys, stream, threshold, factor) => {
        const kept = drop(x.toCopy({ dtype: 'float32' }).fill_(1), keys, stream, threshold, factor);
        return x.mul(kept.ne(0)).mul(factor);
    };
}
//# sourceMappingURL=dropout.js.map