/** Gradient mode, recomputation and hand-written gradients. */
import { Code, isRecording, recordInto, Sym, special } from './call.js';
import { ArgumentError } from './errors.js';
import { native } from './native.js';
import { releaseWith, symbols } from './program.js';
import { Tensor } from './tensor.js';
function withGradMode(enabled, fn) {
    if (isRecording()) {
        // The mode before is a value of the program, known when it runs.
        const before = new Sym(special(Code.GradMode, [enabled], 1)[0].ref);
        try {
            return fn();
        }
        finally {
            special(Code.GradMode, [before], 1);
        }
    }
    const before = native.gradEnabled(enabled) !== 0;
    try {
        const result = fn();
        if (result instanceof Promise)
            throw new TypeError('the gradient mode ends when the function returns, before a promise settles');
        return result;
    }
    finally {
        native.gradEnabled(before);
    }
}
/** Runs `fn` without recording gradients. */
export function noGrad(fn) {
    return withGradMode(false, fn);
}
/** Runs `fn` with gradients recorded, inside `noGrad`. */
export function enableGrad(fn) {
    return withGradMode(true, fn);
}
export function isGradEnabled() {
    return native.gradEnabled() !== 0;
}
/**
 * A part of a model that keeps only its inputs and is computed again when its gradient arrives, with the same random
 * numbers. Recorded when it is first called.
 *
 * ```ts
 * const block = checkpoint(['tensor'], x => x.matmul(up).silu().matmul(down))
 * const y = block(x)
 * ```
 */
export function checkpoint(kinds, fn) {
    let recorded;
    const call = (...inputs) => {
        if (!recorded) {
            recorded = recordPart(kinds, fn);
            releaseWith(call, recorded.program);
        }
        checkInputs(kinds, inputs);
        const results = special(Code.Checkpoint, inputs, recorded.count, recorded.program);
        return (recorded.single ? results[0] : results);
    };
    return call;
}
function recordPart(kinds, fn) {
    const { program, result } = recordInto(kinds.length, first => {
        const outputs = fn(...symbols(kinds, first));
        const list = outputs instanceof Tensor ? [outputs] : outputs;
        return { outputs: list, result: { single: outputs instanceof Tensor, count: list.length } };
    });
    return { program, ...result };
}
function checkInputs(kinds, inputs) {
    if (inputs.length !== kinds.length)
        throw new ArgumentError(`the function takes ${kinds.length} inputs, got ${inputs.length}`);
    for (const [i, kind] of kinds.entries()) {
        const value = inputs[i];
        const right = kind === 'tensor' ? value instanceof Tensor : typeof value === 'number' || value instanceof Sym;
        if (!right)
            throw new ArgumentError(`input ${i} of the function is a ${kind}, got ${value === null ? 'null' : typeof value}`);
    }
}
/**
 * A function with a hand-written backward. Both are recorded when it is first called, so neither may look at values.
 * `backward` gets what `forward` saved, a gradient for each output and the number inputs, and returns a gradient for each
 * tensor input (null: none).
 *
 * ```ts
 * const square = customFunction({
 *   inputs: ['tensor'],
 *   forward: x => ({ outputs: x.mul(x), saved: [x] }),
 *   backward: ({ saved: [x], gradients: [g] }) => [x!.mul(g!).mul(2)],
 * })
 * ```
 */
export function customFunction(definition) {
    const { inputs: kinds, forward, backward } = definition;
    const numbers = kinds.filter(kind => kind === 'number').length;
    const tensors = kinds.length - numbers;
    let recorded;
    const recordBoth = () => {
        const { program, result } = recordInto(kinds.length, first => {
            const { outputs, saved } = forward(...symbols(kinds, first));
            const list = outputs instanceof Tensor ? [outputs] : outputs;
            return {
                outputs: [...list, ...saved],
                result: { single: outputs instanceof Tensor, count: list.length, saved: saved.length },
            };
        });
        const gradientInputs = [
            ...Array(result.saved + result.count).fill('tensor'),
            ...Array(numbers).fill('number'),
        ];
        const reverse = recordInto(gradientInputs.length, first => {
            const all = symbols(gradientInputs, first);
            const gradients = backward({
                saved: all.slice(0, result.saved),
                gradients: all.slice(result.saved, result.saved + result.count),
                numbers: all.slice(result.saved + result.count),
            });
            if (gradients.length !== tensors)
                throw new ArgumentError(`backward returns a gradient for each of the ${tensors} tensor inputs, got ${gradients.length}`);
            return { outputs: gradients, result: undefined };
        });
        return { forward: program, backward: reverse.program, single: result.single, count: result.count };
    };
    const call = (...inputs) => {
        if (!recorded) {
            recorded = recordBoth();
            releaseWith(call, recorded.forward);
            releaseWith(call, recorded.backward);
        }
        checkInputs(kinds, inputs);
        const results = special(Code.Custom, [recorded.count, ...inputs], recorded.count, recorded.forward, recorded.backward);
        return (recorded.single ? results[0] : results);
    };
    return call;
}
//# sourceMappingURL=autograd.js.map