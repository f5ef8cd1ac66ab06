/** Where training starts from: float32 copies of the 16-bit weights that are trained. */
import { checkpointViews } from '../decoder/index.js';
import { Checkpoint, dither, noGrad, unscoped, where, zeros } from '../tensor/index.js';
import { ModelError } from './errors.js';
import { once } from './weights.js';
/** Masters without numbers, by the names of the weights. A model whose weights are not 16-bit has none. */
export function allocateMasters(weights) {
    const narrow = [...weights.trained()].filter(([, { dtype }]) => digits(dtype) < digits('float32'));
    return unscoped(() => new Map(narrow.map(([name, { shape, device }]) => [name, noGrad(() => zeros(shape, { dtype: 'float32', device }))])));
}
/** Which of these model directories and safetensors files hold numbers with more digits than a dtype has. */
export async function sourcesWithMoreBits(paths, dtype) {
    const found = [];
    for (const path of paths) {
        const source = await Checkpoint.open(path);
        if (source.names.some(name => digits(source.info(name).dtype) > digits(dtype)))
            found.push(path);
        await source.close();
    }
    return found;
}
/** Gives masters the numbers they start with. */
export async function startMasters(masters, weights, { kind, seed, sources }) {
    const trained = weights.trained();
    if (kind === 'exact') {
        await once(() => {
            for (const [name, master] of masters)
                master.copy_(trained.get(name));
        });
        return;
    }
    const opened = masters.size > 0 ? await openSources(sources) : [];
    const views = namedViews(weights, masters);
    try {
        for (const [name, { weight, master }] of views)
            await startOne(name, { weight, master, seed, opened });
    }
    finally {
        for (const { weight, master } of views.values()) {
            weight.dispose();
            master.dispose();
        }
        for (const source of opened)
            await source.close();
    }
}
/** Weights and masters by the names of the checkpoint, so that what is drawn does not depend on how tensors are stored here. */
function namedViews(weights, masters) {
    const map = weights.weightMap.filter(({ name }) => masters.has(name));
    const others = [...(weights.adapter?.tensors() ?? [])].filter(([name]) => masters.has(name));
    return unscoped(() => noGrad(() => {
        const [own, theirs] = [checkpointViews(map, masters), checkpointViews(map, weights.tensors)];
        return new Map([
            ...[...own].map(([name, master]) => [name, { weight: theirs.get(name), master }]),
            ...others.map(([name, tensor]) => [name, { weight: tensor.detach(), master: masters.get(name).detach() }]),
        ]);
    }));
}
async function startOne(name, given) {
    const { weight, master, seed, opened } = given;
    const drawn = await ditherCopy(weight, { seed, name });
    const source = opened.find(one => one.has(name) && hasMoreBits(one, name, weight));
    const read = await source?.read(name);
    // A 16-bit type with more digits than the weights' has cells of its own inside theirs.
    const own = read && digits(read.dtype) < digits('float32') ? await ditherCopy(read, { seed, name }) : read;
    try {
        await once(() => {
            if (!own)
                master.copy_(drawn);
            else {
                const wide = own.toCopy({ dtype: 'float32', device: weight.device });
                // Weights that were changed after they had been read are no longer the checkpoint's.
                master.copy_(where(wide.toCopy({ dtype: weight.dtype }).eq(weight), wide, drawn));
            }
        });
    }
    finally {
        for (const tensor of new Set([drawn, read, own]))
            tensor?.dispose();
    }
}
async function ditherCopy(weight, key) {
    const [cells, drawn, finite] = await once(() => [
        weight.clone(),
        weight.toCopy({ dtype: 'float32' }),
        weight.isfinite().all(),
    ]);
    const [allFinite] = await finite.data();
    finite.dispose();
    try {
        if (!allFinite)
            throw new ModelError(`${key.name} holds an infinity or NaN; such weights cannot be trained`);
        await once(() => dither(cells, drawn, key));
        return drawn;
    }
    catch (error) {
        drawn.dispose();
        throw error;
    }
    finally {
        cells.dispose();
    }
}
/** Headers are read; tensors when they are asked for. */
async function openSources(sources) {
    const opened = [];
    try {
        for (const source of sources)
            opened.push(await Checkpoint.open(source));
        return opened;
    }
    catch (cause) {
        for (const one of opened)
            await one.close();
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new ModelError(`training starts from the checkpoint's own digits, and it cannot be opened any more (${why}). Keep it in place until the first step, or train with masters: exact.`, { cause });
    }
}
function hasMoreBits(source, name, { dtype, shape }) {
    const found = source.info(name);
    return digits(found.dtype) > digits(dtype) && found.shape.join() === shape.join();
}
/** Binary digits after the first. */
function digits(dtype) {
    const known = {
        float64: 52,
        float32: 23,
        float16: 10,
        bfloat16: 7,
    };
    return known[dtype] ?? 0;
}
//# sourceMappingURL=masters.js.map