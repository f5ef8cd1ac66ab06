/**
 * The state of a training as one directory: `state.json` says whose it is and where it stands, `weights.safetensors` holds
 * what is trained, `optimizer.safetensors` float32 copies, moments and step counts. What is not trained is not written, only
 * a fingerprint of it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { systemProblem } from '../errors/index.js';
import { recoverDirectory, writeDirectoryAtomic, writeFileAtomic } from '../files/index.js';
import { adamWRates, noGrad, record, SafetensorsFile, writeSafetensors } from '../tensor/index.js';
import { differences } from './differences.js';
import { ModelError } from './errors.js';
import { lossScaleSchema } from './loss-scale.js';
const files = { state: 'state.json', weights: 'weights.safetensors', optimizer: 'optimizer.safetensors' };
const stateSchema = z.strictObject({
    /** Of this layout. */
    format: z.literal(1),
    /** Whose state it is; everything that makes another training of it. */
    training: z.record(z.string(), z.json()),
    version: z.int().nonnegative(),
    /** Of dropout. With the version it is the position of its random numbers. */
    seed: z.int(),
    /** Of float16 weights. */
    lossScale: lossScaleSchema.optional(),
    /** A model that has not made a step yet has none. */
    optimizer: z.boolean(),
});
/** The options of an optimiser as they are in force. */
export function optimizerIdentity({ noDecay = [], ...options }) {
    const { lr: _, betas, ...rates } = adamWRates({ ...options, lr: 0 });
    return { betas: [...betas], ...rates, noDecay: [...noDecay].sort() };
}
export async function writeState(directory, state) {
    const { training, version, seed, lossScale, weights, optimizer } = state;
    const text = {
        ...{ format: 1, training, version, seed, optimizer: optimizer !== undefined },
        ...(lossScale && { lossScale }),
    };
    await writeDirectoryAtomic(directory, async (at) => {
        await writeSafetensors(join(at, files.weights), weights);
        if (optimizer)
            await writeSafetensors(join(at, files.optimizer), optimizer);
        await writeFileAtomic(join(at, files.state), `${JSON.stringify(text, null, 2)}\n`);
    }, { replaces: entry => Object.values(files).includes(entry) });
}
/** Refuses a state of another training, and files that do not hold the model's tensors, before anything is read. */
export async function openState(directory, training, tensors) {
    await recoverDirectory(directory);
    const saved = await readState(directory);
    const differing = differences(saved.training, training);
    if (differing.length > 0)
        throw new ModelError(`${directory} is the state of another training: ${differing.join('; ')}`);
    const opened = [];
    const close = async () => {
        for (const { file } of opened)
            await file.close();
    };
    const open = async (name, into) => {
        const file = await SafetensorsFile.open(join(directory, name));
        opened.push({ file, into });
        refuseUnfit(file, into);
    };
    try {
        await open(files.weights, tensors.weights);
        if (saved.optimizer)
            await open(files.optimizer, tensors.optimizer());
    }
    catch (error) {
        await close();
        throw error;
    }
    return {
        version: saved.version,
        seed: saved.seed,
        lossScale: saved.lossScale,
        hasOptimizer: saved.optimizer,
        async read() {
            for (const { file, into } of opened)
                await copyInto(file, into);
        },
        close,
    };
}
/** What the weights of a state are computed with. */
export async function stateDtype(directory) {
    return z.enum(['float32', 'bfloat16', 'float16']).parse((await readState(directory)).training.dtype);
}
async function readState(directory) {
    const path = join(directory, files.state);
    let raw;
    try {
        raw = JSON.parse(await readFile(path, 'utf8'));
    }
    catch (cause) {
        throw new ModelError(`${path} cannot be read: ${systemProblem(cause, 'read')}`, { cause });
    }
    const parsed = stateSchema.safeParse(raw);
    if (!parsed.success)
        throw new ModelError(`${path} is not a training state:\n${z.prettifyError(parsed.error)}`);
    return parsed.data;
}
function refuseUnfit(file, tensors) {
    const described = (shape, dtype) => `${dtype} [${shape.join(', ')}]`;
    const wrong = [...tensors].flatMap(([name, { shape, dtype }]) => {
        if (!file.has(name))
            return [`${name} is missing`];
        const found = file.info(name);
        const [is, expected] = [described(found.shape, found.dtype), described(shape, dtype)];
        return is === expected ? [] : [`${name} is ${is}, expected ${expected}`];
    });
    wrong.push(...file.names.filter(name => !tensors.has(name)).map(name => `${name} is not known`));
    if (wrong.length === 0)
        return;
    const more = wrong.length > 5 ? `, and ${wrong.length - 5} more` : '';
    throw new ModelError(`${file.path} does not fit the model: ${wrong.slice(0, 5).join(', ')}${more}`);
}
async function copyInto(file, tensors) {
    const place = record(['tensor', 'tensor'], (target, source) => noGrad(() => void target.copy_(source)));
    try {
        for (const [name, tensor] of tensors) {
            const read = await file.read(name);
            await place.run(tensor, read).finally(() => read.dispose());
        }
    }
    finally {
        place.dispose();
    }
}
//# sourceMappingURL=state.js.map