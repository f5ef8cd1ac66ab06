/**
 * float32 masters of 16-bit weights, each at a random place inside the rounding cell of its weight. Rounded, a master is its
 * weight again. A master that started on the 16-bit value itself would first have to move half a step of the 16-bit grid
 * before the weight changes: hundreds of updates at the learning rates of RL.
 */
import { createHash } from 'node:crypto';
import { callOperator } from './call-operator.js';
import { Kernel } from './kernel.js';
const THREADS = 256;
const PER_THREAD = 8;
/** Bits that float32 has beyond the type. */
const extraBits = { bfloat16: 16, float16: 13 };
const kernels = new Map();
/**
 * Fills `master` (float32, of the weight's shape). The random numbers depend on the seed, the name and an element's index alone:
 * not on the device, nor on where the weight is stored. Zeros stay zero; infinities and NaN have no cell. Both tensors are
 * contiguous and start at a multiple of 16 bytes.
 */
export function dither(weight, master, { seed, name }) {
    const [first, second] = randomKey(seed, name);
    if (weight.device === 'cpu')
        callOperator('whetstone::dither', weight, master, first, second);
    else {
        const grid = [Math.max(1, Math.ceil(weight.numel / (THREADS * PER_THREAD)))];
        kernelFor(weight).launch({ grid, block: [THREADS] }, weight, master, weight.numel, first, second);
    }
}
function kernelFor({ dtype }) {
    if (dtype !== 'bfloat16' && dtype !== 'float16')
        throw new TypeError(`masters are for bfloat16 and float16 weights, not ${dtype}`);
    let kernel = kernels.get(dtype);
    if (!kernel) {
        kernel = new Kernel({
            file: new URL('./dither.cu', import.meta.url),
            entry: 'dither',
            parameters: [`tensor:${dtype}`, 'tensor:float32', 'int64', 'int32', 'int32'],
            define: { T: dtype, EXTRA: extraBits[dtype], THREADS },
        });
        kernels.set(dtype, kernel);
    }
    return kernel;
}
/** Two 32-bit words. */
function randomKey(seed, name) {
    const digest = createHash('sha256').update(`masters\n${seed}\n${name}`).digest();
    return [digest.readInt32LE(0), digest.readInt32LE(4)];
}
//# sourceMappingURL=dither.js.map