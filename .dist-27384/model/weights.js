/** The tensors of a model: made, read from a checkpoint, written to one. */
import { createHash } from 'node:crypto';
import { checkpointViews, parameterCount } from '../decoder/index.js';
import { Checkpoint, noGrad, ones, RandomGenerator, randn, record, Tensor, unscoped, zeros, } from '../tensor/index.js';
import { ModelError } from './errors.js';
import { refuseTooLarge } from './fit-checkpoint.js';
/** Names with what is wrong; a long list is cut. */
function listed(title, names) {
    if (names.length === 0)
        return '';
    const more = names.length > 8 ? `, and ${names.length - 8} more` : '';
    return `\n  ${title}: ${names.slice(0, 8).join(', ')}${more}`;
}
/** Which weights a checkpoint has, by its headers alone. Everything that does not fit is listed in one error. */
export function checkWeights(directory, checkpoint, weights, options) {
    const present = new Set(checkpoint.names);
    const expected = new Map(weights.flatMap(({ parts, shape }) => parts.map(part => [part.name, [part.rows, ...shape.slice(1)]])));
    const missing = new Set([...expected.keys()].filter(name => !present.has(name)));
    const absent = [...missing].filter(name => !options.optional?.(name));
    const unexpected = [...present].filter(name => !expected.has(name) && !options.ignored?.(name));
    const misshaped = [...expected].filter(([name, shape]) => present.has(name) && checkpoint.info(name).shape.join() !== shape.join());
    if (absent.length + unexpected.length + misshaped.length === 0)
        return { missing };
    throw new ModelError(`${directory}: the weights do not fit ${options.fit ?? 'config.json'}${listed('missing', absent)}${listed('unexpected', unexpected)}${listed('wrong shape', misshaped.map(([name, shape]) => `${name} is [${checkpoint.info(name).shape.join(', ')}], expected [${shape.join(', ')}]`))}`);
}
/**
 * Reads a checkpoint into our tensors. Everything that does not fit is listed in one error, before any tensor is read.
 * Answers with the names that were optional and missing.
 */
export async function readWeights(directory, weights, options) {
    const checkpoint = await Checkpoint.open(directory);
    const tensors = new Map();
    try {
        const { missing } = checkWeights(directory, checkpoint, weights, options);
        refuseTooLarge(parameterCount(weights), options);
        const { dtype, device } = options;
        const target = ({ name, shape }) => {
            const fresh = unscoped(() => Tensor.empty(shape, { dtype, device }));
            tensors.set(name, fresh);
            return fresh;
        };
        await fillWeights(checkpoint, weights, target, options);
        return { tensors, missing };
    }
    catch (error) {
        for (const tensor of tensors.values())
            tensor.dispose();
        throw error;
    }
    finally {
        await checkpoint.close();
    }
}
/** Copies what a checkpoint has into our tensors, one of its own after another: no second copy of all is ever in memory. */
export async function fillWeights(checkpoint, weights, target, { signal, onProgress }) {
    // Off the event loop: casting a large embedding, or moving it to a device, takes a while.
    const place = record(['tensor', 'tensor', 'number', 'number'], (into, part, row, rows) => noGrad(() => void into.narrow(0, row, rows).copy_(part)));
    const names = weights.flatMap(({ parts }) => parts.map(({ name }) => name));
    const totalBytes = names.reduce((sum, name) => sum + (checkpoint.has(name) ? checkpoint.info(name).bytes : 0), 0);
    let loadedBytes = 0;
    try {
        for (const weight of weights) {
            const into = target(weight);
            let row = 0;
            for (const { name, rows } of weight.parts) {
                if (checkpoint.has(name)) {
                    signal?.throwIfAborted();
                    const part = await checkpoint.read(name, signal ? { signal } : {});
                    await place.run(into, part, row, rows).finally(() => part.dispose());
                    loadedBytes += checkpoint.info(name).bytes;
                    onProgress?.({ loadedBytes, totalBytes });
                }
                row += rows;
            }
        }
    }
    finally {
        place.dispose();
    }
}
/** Random weights as transformers initialises them: normal matrices, zero biases, unit norms. Deterministic per seed. */
export async function initializeWeights(weights, config, options) {
    // Drawn on the CPU in float32, so that a seed gives the same model everywhere.
    const generator = new RandomGenerator({ seed: options.seed });
    const { device, dtype } = options;
    const tensors = new Map();
    try {
        for (const { name, shape, kind } of weights) {
            const [fresh] = await once(() => {
                if (kind === 'norm')
                    return [ones(shape, { device, dtype })];
                if (kind === 'bias')
                    return [zeros(shape, { device, dtype })];
                return [randn(shape, { generator }).mul(config.initRange).toCopy({ device, dtype })];
            });
            tensors.set(name, fresh);
        }
        return tensors;
    }
    finally {
        generator.dispose();
    }
}
/** Runs `fn` off the event loop, without gradients. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type.
export async function once(fn) {
    const program = record([], () => noGrad(fn));
    try {
        return (await program.run());
    }
    finally {
        program.dispose();
    }
}
/** A fingerprint of the weights, by the checkpoint's names: the same for the same bits, however they are stored. */
export async function checksumWeights(weights, tensors) {
    const views = unscoped(() => checkpointViews(weights, tensors));
    const hash = createHash('sha256');
    try {
        for (const [name, view] of [...views].sort(([a], [b]) => (a < b ? -1 : 1))) {
            const { dtype, shape } = view;
            hash.update(`${name}:${dtype}[${shape.join()}]\n`);
            const data = await view.data();
            const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
            // Hashed a few megabytes at a time, so that the event loop is never held for long.
            for (let at = 0; at < bytes.length; at += 4 << 20) {
                hash.update(bytes.subarray(at, at + (4 << 20)));
                await new Promise(resolve => setImmediate(resolve));
            }
        }
        return hash.digest('hex');
    }
    finally {
        for (const view of views.values())
            view.dispose();
    }
}
//# sourceMappingURL=weights.js.map