/**
 * Projections of few rows on Hopper as CUDA kernels (skinny-gemm.cu, skinny-gemm-ends.cu), where what takes time is waiting: a
 * kernel starts while the one in front of it still runs, and norms are no kernels of their own. They know no gradients. The
 * same of operators: test/kernels/skinny-gemm-reference.ts.
 */
import { Kernel } from '../tensor/index.js';
import { memoized } from './memoized.js';
import { gatePairs, gatePairsBox, productDefines } from './projection.js';
const kinds = { plain: 0, gated: 1, stream: 2 };
/** Of a block, on Hopper, without what the kernel has of its own. */
const SHARED_BYTES = 225 * 1024;
/** Chunks of 64 elements of an intermediate dimension. */
const SHORT = 16;
/**
 * `features` are the weight's, `blocks` those that run at once: a card's multiprocessors. Undefined where rows are no longer
 * few, or the product so large that it is bound by the tensor cores: there libtorch's are as fast.
 */
export function planSkinnyGemm(kind, { rows, features, intermediate, blocks }) {
    if (rows > 256)
        return undefined;
    const chunks = Math.ceil(intermediate / 64);
    const plan = (tile, most) => {
        // Sums that are not finished in registers lie where the tiles were, and those of others beside them.
        const direct = tile.upright && tile.depth * tile.splits === 1 && kind !== 'stream';
        const least = direct ? 1 : Math.ceil((tile.depth * sumBytes(tile)) / stageBytes(tile));
        const room = Math.floor((SHARED_BYTES - (tile.splits > 1 ? sumBytes(tile) : 0)) / stageBytes(tile));
        const each = Math.ceil(chunks / tile.splits);
        const stages = Math.max(least, Math.min(each <= most + 1 ? each : most, room));
        // Weights of the next would come in the way of a short product's few.
        return { ...tile, stages, late: kind === 'stream' && chunks <= SHORT && rows <= 128 };
    };
    if (kind === 'gated') {
        if (rows <= 64)
            return plan({ rows: roundUp(rows, 8), features: 64, upright: false, depth: chunks > 1 ? 2 : 1, splits: 1 }, 6);
        // One tile for each block that runs, about as high as wide: what a multiprocessor reads is its rows and its features.
        const high = Math.ceil(rows / 128);
        const width = Math.max(64, roundUp(Math.ceil(features / Math.floor(blocks / high)), 16));
        // Wider ones were not tried.
        if (width > 176)
            return undefined;
        const tile = { rows: roundUp(Math.ceil(rows / high), 64), features: width, upright: true, depth: 1, splits: 1 };
        return plan(tile, high > 1 ? 5 : 4);
    }
    // A short intermediate dimension of more rows is better divided within blocks, which have nothing to send each other.
    const squares = Math.ceil(rows / 64) * Math.ceil(features / 64);
    if (kind === 'stream' && rows > 128 && chunks > 1 && chunks <= SHORT && squares <= blocks)
        return plan({ rows: 64, features: 64, upright: false, depth: 2, splits: 1 }, 8);
    const tile = rows > 128 ? roundUp(Math.ceil(rows / 2), 8) : roundUp(rows, 8);
    const tiles = Math.ceil(rows / tile) * Math.ceil(features / 64);
    // Shorter parts cost more to sum than they save; where there is a norm, its factors come later than the products.
    const shortest = kind === 'plain' ? 7 : 3.5;
    const splits = [8, 4, 2].find(count => tiles * count <= blocks && chunks / count >= shortest) ?? 1;
    return plan({ rows: tile, features: 64, upright: false, depth: 1, splits }, 6);
}
const roundUp = (value, step) => Math.ceil(value / step) * step;
const stageBytes = ({ rows, features }) => (features + rows) * 128;
const sumBytes = ({ rows, features }) => rows * (features + 4) * 4;
/** Of a block: tiles, which start at multiples of 1,024 bytes, and what others send it. */
export function streamSharedBytes(plan) {
    return plan.stages * stageBytes(plan) + (plan.splits > 1 ? sumBytes(plan) : 0) + 1024;
}
/** How many tiles of rows are in a cluster: all of them, or one where so large a cluster might have to wait for room. */
export function clusterHeight(given) {
    const { splits, parts, high, blocks } = given;
    const size = splits * high;
    // A cluster lies within one of the card's groups of 16 or 18 multiprocessors, and is of 8 at most.
    return size <= 4 || (size <= 8 && parts * size <= (blocks * 7) / 8) ? high : 1;
}
/**
 * Whether the kernels take a step of so many rows of a decoder of this shape: their products are Hopper's own instructions,
 * which no later chip has, and they read and write vectors of eight elements.
 */
export function skinnyGemmFits(rows, { hidden, intermediate, heads, kvHeads, headDim }, dtype, { capability, multiprocessors }) {
    const [queries, qkv] = [heads * headDim, (heads + 2 * kvHeads) * headDim];
    const fits = (kind, features, depth) => planSkinnyGemm(kind, { rows, features, intermediate: depth, blocks: multiprocessors }) !== undefined;
    return (dtype === 'bfloat16' &&
        Math.floor(Number(capability)) === 9 &&
        [hidden, intermediate, queries, qkv].every(width => width % 8 === 0) &&
        // A thread adds up a row's squares, one of every 64 elements: wider ones were not tried.
        hidden <= 4096 &&
        fits('plain', qkv, hidden) &&
        fits('stream', hidden, queries) &&
        fits('gated', 2 * intermediate, hidden) &&
        fits('stream', hidden, intermediate));
}
const elements = 'tensor:bfloat16';
const wide = 'tensor:float32';
/** For steps of any number of rows: those whose products are divided alike have their kernels in common. */
export function skinnyGemmKernels(eps, multiprocessors) {
    const beginKernel = memoized((hidden) => endsKernel('stream_begin', hidden, 0, ['tensor:int32', elements, elements, wide, elements, wide]));
    const endKernel = memoized(({ width, parts }) => endsKernel('stream_end', width, parts, [elements, wide, 'float32', elements]));
    const productKernel = memoized(linearKernel);
    const rowBlock = (hidden) => [roundUp(hidden / 8, 32)];
    const begin = (rows, ids, { table, norm }) => {
        const hidden = table.shape[1];
        const wide = (size) => table.newEmpty(size, { dtype: 'float32' });
        const [residual, values, squares] = [wide([rows, hidden]), table.newEmpty([rows, hidden]), wide([1, rows])];
        const shape = { grid: [rows], block: rowBlock(hidden), overlap: true };
        beginKernel(hidden).launch(shape, ids, table, norm, residual, values, squares);
        return { residual, normed: { values, squares, parts: 1, width: hidden } };
    };
    const end = (rows, { values, squares, parts, width }) => {
        const out = values.emptyLike();
        const shape = { grid: [rows], block: rowBlock(width), overlap: true };
        endKernel({ width, parts }).launch(shape, values, squares, eps, out);
        return out;
    };
    const product = (kind, rows, x, given) => {
        const { weight, bias = null, residual = null, norm = null } = given;
        const [features, intermediate] = weight.shape;
        const plan = planSkinnyGemm(kind, { rows, features, intermediate, blocks: multiprocessors });
        if (!plan)
            throw new RangeError(`a ${kind} product of ${rows} x ${features} is not one for these kernels`);
        const width = kind === 'gated' ? features / 2 : features;
        const parts = Math.ceil(features / plan.features);
        const values = weight.newEmpty([rows, width]);
        const squares = kind === 'stream' ? weight.newEmpty([parts, rows], { dtype: 'float32' }) : null;
        const groups = (plan.upright ? plan.rows : plan.features) / 64;
        const high = Math.ceil(rows / plan.rows);
        productKernel({ kind, plan, intermediate, parts: x.parts }).launch({
            grid: [plan.splits, parts, high],
            block: [groups * plan.depth * 128 + 32],
            sharedBytes: streamSharedBytes(plan),
            cluster: [plan.splits, 1, clusterHeight({ splits: plan.splits, parts, high, blocks: multiprocessors })],
            overlap: true,
        }, ...[kind === 'gated' ? gatePairs(weight, features / 2, intermediate) : weight, x.values, x.squares, eps], ...[bias, residual, norm, values, squares, rows, width]);
        return { values, squares, parts, width };
    };
    return rows => ({
        begin: (ids, given) => begin(rows, ids, given),
        plain: (x, given) => product('plain', rows, x, given).values,
        gated: (x, given) => product('gated', rows, x, given).values,
        stream: (x, given) => {
            const { squares, ...made } = product('stream', rows, { values: x, squares: null, parts: 0 }, given);
            return { ...made, squares: squares };
        },
        end: x => end(rows, x),
    });
}
function endsKernel(entry, hidden, parts, parameters) {
    const file = new URL('./skinny-gemm-ends.cu', import.meta.url);
    return new Kernel({ file, entry, parameters, define: { T: 'bfloat16', HIDDEN: hidden, PARTS: parts } });
}
/** `parts`: of the squares of what is read; 0 where it was not normalised. */
function linearKernel(given) {
    const { kind, intermediate, parts } = given;
    const { rows, features, upright, depth, splits, stages, late } = given.plan;
    const weights = kind === 'gated' ? gatePairsBox(features) : [features, 64];
    return new Kernel({
        file: new URL('./skinny-gemm.cu', import.meta.url),
        entry: 'stream_linear',
        parameters: [
            { tiles: 'bfloat16', box: weights },
            { tiles: 'bfloat16', box: [rows, 64] },
            ...[wide, 'float32', elements, wide, elements, elements, wide],
            ...['int32', 'int32'],
        ],
        define: {
            T: 'bfloat16',
            KIND: kinds[kind],
            ROWS: rows,
            FEATURES: features,
            UPRIGHT: upright ? 1 : 0,
            DEPTH: depth,
            SPLITS: splits,
            STAGES: stages,
            LATE: late ? 1 : 0,
            CHUNKS: Math.ceil(intermediate / 64),
            PARTS: parts,
            WIDTH: intermediate,
            ...productDefines(upright ? features : rows),
        },
    });
}
//# sourceMappingURL=skinny-gemm.js.map