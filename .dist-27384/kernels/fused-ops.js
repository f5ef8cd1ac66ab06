/**
 * Pieces of a model that are worth a kernel of their own: what libtorch would do in several passes over memory, in one. On
 * CUDA they are kernels compiled at first use, elsewhere the same composed of operators (`*-composed.ts`).
 */
import { ArgumentError } from '../tensor/index.js';
import { dropoutOps } from './dropout.js';
import { linearOps } from './linear.js';
import { logprobKernel } from './logprob.js';
import { logprobComposed } from './logprob-composed.js';
import { memoized } from './memoized.js';
import { rmsNormKernel } from './rms-norm.js';
import { rmsNormComposed } from './rms-norm-composed.js';
import { ropeFits, ropeKernel } from './rope.js';
import { ropeComposed } from './rope-composed.js';
import { swigluKernel } from './swiglu.js';
import { swigluComposed } from './swiglu-composed.js';
const made = new Map();
/**
 * The fused operators for tensors of one device and dtype. Chosen once, by the model: a tensor of a recording has neither.
 * A tensor of another device or dtype is refused when the operator runs.
 *
 * ```ts
 * const ops = fusedOps({ device: 'cuda', dtype: 'bfloat16' })
 * const [normed, sum] = ops.addRmsNorm(x, residual, weight, 1e-6)
 * ```
 */
export function fusedOps({ device, dtype }) {
    const kernels = device !== 'cpu' && dtype !== 'float64'; // float64 is for checking numbers, not for speed
    const key = `${device === 'cpu'} ${dtype}`;
    let ops = made.get(key);
    if (!ops) {
        ops = { ...make(kernels, dtype), ...linearOps({ device, dtype }), ...dropoutOps({ device, dtype }) };
        made.set(key, ops);
    }
    return ops;
}
function make(kernels, dtype) {
    if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'bfloat16' && dtype !== 'float64')
        throw new ArgumentError(`fused operators are for floating-point dtypes, not ${dtype}`);
    const composed = {
        ...rmsNormComposed(dtype),
        ...swigluComposed(dtype),
        rope: memoized((shape) => ropeComposed(dtype, shape)),
        logprobs: () => logprobComposed(dtype),
    };
    if (!kernels || dtype === 'float64')
        return composed;
    return {
        ...rmsNormKernel(dtype, composed),
        swiglu: swigluKernel(dtype).swiglu,
        rope: memoized((shape) => ropeFits(shape.headDim, dtype) ? ropeKernel(dtype, shape) : ropeComposed(dtype, shape)),
        logprobs: memoized((vocabSize) => logprobKernel(dtype, vocabSize)),
    };
}
//# sourceMappingURL=fused-ops.js.map