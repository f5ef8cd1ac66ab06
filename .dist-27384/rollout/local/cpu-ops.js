/** The CPU operators of generation (`native/{linear,attention,sampling}.cc`), typed. Matrices are contiguous, `[rows, width]`. */
import { callOperator } from '../../tensor/index.js';
export const cpuOps = {
    /** `x @ weight.T + bias` */
    linear: (x, weight, bias) => callOperator('whetstone::linear', x, weight, bias),
    rmsNorm: (x, weight, eps) => callOperator('whetstone::rms_norm', x, weight, eps),
    /** The norm of `x + residual`, and the sum. */
    addRmsNorm: (x, residual, weight, eps) => callOperator('whetstone::add_rms_norm', x, residual, weight, eps),
    /** `silu(gate) * up` of `[rows, gate then up]`. */
    swiglu: (gateUp) => callOperator('whetstone::swiglu', gateUp),
    /** Rotates queries and keys by position, stores keys and values in the layer's cache (slot -1: nowhere), gives the queries. */
    rotateStore: (qkv, tables, { positions, slotMapping, cache }) => callOperator('whetstone::rotate_store', qkv, tables.cos, tables.sin, positions, slotMapping, cache),
    /** Each row's attention over its sequence's blocks, up to its position. */
    pagedAttention: (queries, given) => {
        const { cache, blockTable, sequences, positions, scale } = given;
        return callOperator('whetstone::paged_attention', queries, cache, blockTable, sequences, positions, scale);
    },
    /** Draws a token of each row of float32 `logits`: ids, log-probabilities, the likeliest ids and theirs. */
    sample: (logits, rows, top) => callOperator('whetstone::sample', logits, rows.settings, rows.streams, rows.targetIds, rows.forbiddenOffsets, rows.forbiddenIds, top),
};
//# sourceMappingURL=cpu-ops.js.map