/** Causal attention over the rows of a batch: the one place where sequences meet themselves, and never each other. */
import { memoized } from '../kernels/index.js';
import { callOperator, cat, customFunction, flashAttentionForward, scaledDotProductAttention, softmaxBackward, } from '../tensor/index.js';
/**
 * On the CPU, sequences up to this long are faster as plain matrix products than by libtorch's tiled attention; then `mask`,
 * `[length, length]` with minus infinity above the diagonal, is given.
 */
export const shortLength = 128;
/** The tensors of `rows`, to hand them into a recording. */
export function rowTensors(rows) {
    if (rows.kind === 'varlen')
        return [rows.cuSeqlens];
    return [...(rows.kind === 'uniform' ? [] : [rows.pad, rows.unpad]), ...(rows.mask ? [rows.mask] : [])];
}
/** And back. */
export function rowsOf(kind, length, tensors) {
    if (kind === 'varlen')
        return { kind, length, cuSeqlens: tensors[0] };
    if (kind === 'uniform')
        return { kind, length, mask: tensors[0] };
    return { kind, length, pad: tensors[0], unpad: tensors[1], mask: tensors[2] };
}
/**
 * Rows to grid cells. A cell past its sequence's end repeats some row; it comes after every real one, so causal attention
 * never reads it.
 */
const padRows = customFunction({
    inputs: ['tensor', 'tensor', 'tensor'],
    forward: (rows, pad, unpad) => ({ outputs: rows.indexSelect(0, pad), saved: [unpad] }),
    backward: ({ saved: [unpad], gradients: [gradient] }) => [gradient.indexSelect(0, unpad), null, null],
});
/** As `padRows`, for rows that stand in several cells: the gradients of all of them add up. Those of cells past an end are 0. */
const padSharedRows = customFunction({
    inputs: ['tensor', 'tensor', 'tensor'],
    forward: (rows, pad, unpad) => ({ outputs: rows.indexSelect(0, pad), saved: [pad, unpad] }),
    backward: ({ saved: [pad, unpad], gradients: [gradient] }) => {
        const size = [unpad.size(0), gradient.size(1), gradient.size(2)];
        return [gradient.newZeros(size).indexAdd_(0, pad, gradient), null, null];
    },
});
/** Grid cells back to rows. Cells past a sequence's end get no gradient, or they would pass one on to its keys and values. */
const unpadRows = customFunction({
    inputs: ['tensor', 'tensor', 'tensor'],
    forward: (cells, pad, unpad) => ({ outputs: cells.indexSelect(0, unpad), saved: [pad, unpad] }),
    backward: ({ saved: [pad, unpad], gradients: [gradient] }) => [
        gradient.newZeros([pad.size(0), gradient.size(1)]).indexCopy_(0, unpad, gradient),
        null,
        null,
    ],
});
/**
 * Attention of short sequences as batched products, the query heads of one key head side by side. `qk` is
 * `[cells, heads + kvHeads, headDim]`, `value` `[cells, kvHeads, headDim]`; out come `[cells, heads * headDim]`.
 */
function makeShortAttention({ heads, kvHeads, headDim }) {
    const group = heads / kvHeads;
    const scale = headDim ** -0.5;
    /** `[cells, kvHeads * times, headDim]` to `[sequences * kvHeads, times * length, headDim]`. */
    const fold = (x, times, length) => {
        const apart = x.unflatten(0, [-1, length]).unflatten(2, [kvHeads, times]);
        return apart.permute([0, 2, 3, 1, 4]).flatten(2, 3).flatten(0, 1);
    };
    const unfold = (x, times, length) => {
        const apart = x.view([-1, kvHeads, times, length, headDim]);
        return apart.permute([0, 3, 1, 2, 4]).flatten(0, 1).flatten(1, 2);
    };
    return customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'number'],
        forward: (qk, value, mask, length) => {
            const query = fold(qk.narrow(1, 0, heads), group, length);
            const key = fold(qk.narrow(1, heads, kvHeads), 1, length);
            const values = fold(value, 1, length);
            const weights = mask.repeat([group, 1]).baddbmm(query, key.transpose(1, 2), { alpha: scale }).softmax(-1);
            const out = unfold(weights.bmm(values), group, length).flatten(1);
            return { outputs: out, saved: [query, key, values, weights] };
        },
        backward: ({ saved: [query, key, values, weights], gradients: [gradient], numbers: [length] }) => {
            const arriving = fold(gradient.unflatten(1, [heads, headDim]), group, length);
            const dWeights = arriving.bmm(values.transpose(1, 2));
            const dScores = softmaxBackward(dWeights, weights, -1, { inputDtype: 'float32' }).mul_(scale);
            const dQuery = unfold(dScores.bmm(key), group, length);
            const dKey = unfold(dScores.transpose(1, 2).bmm(query), 1, length);
            const dValue = unfold(weights.transpose(1, 2).bmm(arriving), 1, length);
            return [cat([dQuery, dKey], 1), dValue, null];
        },
    });
}
const shortAttention = memoized(makeShortAttention);
/** Causal attention over sequences as they lie. Its gradient is of our own making for the sake of its order of sums alone. */
const flashAttention = customFunction({
    inputs: ['tensor', 'tensor', 'tensor', 'tensor', 'number'],
    forward: (query, key, value, cuSeqlens, length) => {
        const [out, ...rest] = flashAttentionForward(query, key, value, cuSeqlens, cuSeqlens, length, length, 0, {
            isCausal: true,
            returnDebugMask: false,
        });
        const [logsumexp, randomState, unused] = rest;
        return { outputs: out, saved: [query, key, value, out, logsumexp, cuSeqlens, randomState, unused] };
    },
    backward: ({ saved, gradients: [gradient], numbers: [length] }) => {
        const [query, key, value, out, logsumexp, cuSeqlens, ...random] = saved;
        const given = [query, key, value, out, logsumexp, cuSeqlens, length, ...random];
        const found = callOperator('whetstone::flash_attention_backward', gradient, ...given);
        return [found[0], found[1], found[2], null];
    },
});
/** `qk` holds the queries' heads, then the keys'; `[rows, heads, headDim]`. Out come `[rows, heads * headDim]`. */
export function attention(rows, config, qk, value) {
    const { heads, kvHeads, headDim } = config;
    const width = heads * headDim;
    if (rows.kind === 'varlen') {
        const [query, key] = [qk.narrow(1, 0, heads), qk.narrow(1, heads, kvHeads)];
        return flashAttention(query, key, value, rows.cuSeqlens, rows.length).reshape([-1, width]);
    }
    const toGrid = (x) => {
        if (rows.kind === 'uniform')
            return x;
        return (rows.kind === 'shared' ? padSharedRows : padRows)(x, rows.pad, rows.unpad);
    };
    const [pairs, values] = [toGrid(qk), toGrid(value)];
    let out;
    if (rows.mask) {
        out = shortAttention({ heads, kvHeads, headDim })(pairs, values, rows.mask, rows.length);
    }
    else {
        // [sequence, head, position, dim]
        const grid = (x, count) => x.reshape([-1, rows.length, count, headDim]).transpose(1, 2);
        const pair = grid(pairs, heads + kvHeads);
        const [query, key] = [pair.narrow(1, 0, heads), pair.narrow(1, heads, kvHeads)];
        // libtorch repeats shared keys itself only from 2.5 on.
        const shared = (x) => (heads === kvHeads ? x : x.repeatInterleave(heads / kvHeads, 1));
        const attended = scaledDotProductAttention(query, shared(key), shared(grid(values, kvHeads)), null, 0, {
            isCausal: true,
        });
        out = attended.transpose(1, 2).reshape([-1, width]);
    }
    return rows.kind === 'uniform' ? out : unpadRows(out, rows.pad, rows.unpad);
}
//# sourceMappingURL=attention.js.map