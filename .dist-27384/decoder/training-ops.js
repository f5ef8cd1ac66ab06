/** The table of operations of training and scoring: differentiable, with adapters, over batches of whole sequences. */
import { cat, checkpoint, linear } from '../tensor/index.js';
import { attention, rowsOf, rowTensors } from './attention.js';
import { composeLayerOps } from './composed-ops.js';
import { deferredLayerOps } from './deferred-ops.js';
import { isSplit, runLayers } from './layer.js';
import { usesRope } from './rope.js';
import { projections } from './weight-map.js';
/** The hidden states after the final norm, `[rows, hidden]`, of all rows or of those that are wanted, each of them once. */
export function decode(parts, ids, places, wanted = 'all') {
    const { deferred } = parts;
    return deferred
        ? runLayers(parts, deferredTrainingOps(parts, deferred.many, places), ids, wanted)
        : runLayers(parts, trainingOps(parts, places), ids, wanted);
}
function trainingOps(parts, places) {
    const composed = composeLayerOps(parts.config, { ...sharedOps(parts, places), addRmsNorm: parts.ops.addRmsNorm }, parts.adapter);
    if (!parts.gradientCheckpointing)
        return composed;
    const again = (inner) => trainingOps(parts, inner);
    const [tensorsOf, normedOf] = [(normed) => [normed], ([normed]) => normed];
    return { ...composed, runLayer: checkpointed(places, again, tensorsOf, normedOf) };
}
function deferredTrainingOps(parts, deferred, places) {
    const gradients = parts.gradients ?? 'recorded';
    const composed = deferredLayerOps(parts.config, { ...sharedOps(parts, places), deferred, gradients }, parts.adapter);
    if (!parts.gradientCheckpointing)
        return composed;
    const again = (inner) => deferredTrainingOps(parts, deferred, inner);
    const tensorsOf = ({ values, rstd }) => [values, rstd];
    const normedOf = ([values, rstd]) => ({ values: values, rstd: rstd });
    return { ...composed, runLayer: checkpointed(places, again, tensorsOf, normedOf) };
}
/** What does not depend on how the stream between layers is kept. */
function sharedOps(parts, places) {
    const { config, ops } = parts;
    return {
        linear: ops.linear,
        rmsNorm: ops.rmsNorm,
        swiglu: ops.swiglu,
        // Heads as they lie in the projection: a row of each would be a copy.
        normColumns: (x, weight, groups) => ops.rmsNorm(x.reshape([-1, groups, weight.shape[0]]), weight, config.normEps).flatten(1),
        addLowRank: (out, input, low, { layer, projection }) => {
            const { dropoutKeys: keys } = places;
            const stream = layer * projections.length + projections.indexOf(projection);
            const dropped = keys && low.dropout > 0 ? ops.dropout(input, keys, { stream, rate: low.dropout }) : input;
            return out.add(linear(linear(dropped, low.a), low.b), { alpha: low.scale });
        },
        attend: (qkv, layer) => {
            const [qk, value] = rotate(parts, qkv, layer, places);
            return attention(places.rows, config, qk, value);
        },
    };
}
/** Queries and keys side by side, rotated by position where the layer does so, and the values: `[rows, heads, headDim]` each. */
function rotate({ config, ops }, qkv, layer, { cos, sin }) {
    const { heads, kvHeads, headDim } = config;
    const rotated = heads + kvHeads;
    const rotates = usesRope(config, layer);
    if (!isSplit(qkv)) {
        if (rotates)
            return ops.rope({ rotated, rest: kvHeads, headDim })(qkv, cos, sin);
        const each = qkv.reshape([-1, rotated + kvHeads, headDim]);
        return [each.narrow(1, 0, rotated), each.narrow(1, rotated, kvHeads)];
    }
    const [query, key, value] = qkv;
    const qk = cat([query, key], 1);
    return [
        rotates ? ops.rope({ rotated, rest: 0, headDim })(qk, cos, sin)[0] : qk.reshape([-1, rotated, headDim]),
        value.reshape([-1, kvHeads, headDim]),
    ];
}
/** The layer as a checkpoint: its inputs are what the backward pass keeps. `again` makes the table over inputs of its own. */
function checkpointed({ cos, sin, rows, dropoutKeys }, again, tensorsOf, normedOf) {
    return ({ normed, residual }, run) => {
        const keys = dropoutKeys ? [dropoutKeys] : [];
        const normedTensors = tensorsOf(normed);
        const count = normedTensors.length;
        const tensors = [residual, ...normedTensors, cos, sin, ...keys, ...rowTensors(rows)];
        const kinds = [...tensors.map(() => 'tensor'), 'number'];
        const layer = checkpoint(kinds, (...inputs) => {
            const given = inputs.slice(0, -1);
            const [cos, sin, ...rest] = given.slice(1 + count);
            const dropped = dropoutKeys && { dropoutKeys: rest.shift() };
            const inner = { cos: cos, sin: sin, rows: rowsOf(rows.kind, inputs.at(-1), rest), ...dropped };
            const state = { residual: given[0], normed: normedOf(given.slice(1, 1 + count)) };
            const next = run(again(inner), state);
            return [next.residual, ...tensorsOf(next.normed)];
        });
        const [nextResidual, ...nextNormed] = layer(...tensors, rows.length);
        return { residual: nextResidual, normed: normedOf(nextNormed) };
    };
}
/** The matrix that makes logits of hidden states. */
export function headWeight({ weights, config }) {
    return weights.get(config.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
}
//# sourceMappingURL=training-ops.js.map