import { layerWeights } from './weight-map.js';
/** The normalised hidden states of the rows `wanted`, `[rows, hidden]`; undefined where none are. */
export function runLayers({ config, weights }, ops, ids, wanted) {
    const last = config.layers - 1;
    const finalNorm = weights.get('model.norm.weight');
    const named = Array.from({ length: config.layers }, (_, i) => layerWeights(config, weights, i));
    // A norm in front of a part is computed with the part before it, the last one with the last layer.
    const before = config.norms === 'before';
    let state = ops.begin(ids, {
        table: weights.get('model.embed_tokens.weight'),
        norm: before ? named[0].attentionNorm : null,
    });
    for (const [i, layer] of named.entries()) {
        const afterMlp = before ? (named[i + 1]?.attentionNorm ?? finalNorm) : layer.mlpNorm;
        const run = (table, given, rows = 'all') => runLayer(config, layer, table, given, { index: i, afterMlp, rows });
        const next = ops.runLayer && !(i === last && wanted !== 'all')
            ? ops.runLayer(state, (table, given) => run(table, given))
            : run(ops, state, i === last ? wanted : 'all');
        if (!next)
            return undefined;
        state = next;
    }
    return ops.end(state, before ? null : finalNorm);
}
function runLayer(config, weights, ops, state, { index, afterMlp, rows }) {
    const qkv = normQueriesAndKeys(config, weights, ops, ops.linear(state.normed, weights.qkv));
    if (rows === 'none') {
        ops.store(qkv, index);
        return undefined;
    }
    let mixed = ops.attend(qkv, index);
    let { residual } = state;
    if (rows !== 'all') {
        // From here on rows no longer meet.
        mixed = mixed.indexSelect(0, rows);
        residual = residual.indexSelect(0, rows);
    }
    const afterAttention = config.norms === 'before' ? weights.mlpNorm : weights.attentionNorm;
    const middle = ops.join(mixed, weights.output, { residual, norm: afterAttention });
    const act = ops.gated(middle.normed, weights.gateUp);
    return ops.join(act, weights.down, { residual: middle.residual, norm: afterMlp });
}
function normQueriesAndKeys({ qkNorm, heads, kvHeads }, { qkv: map, queryNorm, keyNorm }, ops, qkv) {
    if (qkNorm === 'none')
        return qkv;
    const [query, key, value] = splitColumns(qkv, map);
    const groups = (count) => (qkNorm === 'head' ? count : 1);
    return [ops.normColumns(query, queryNorm, groups(heads)), ops.normColumns(key, keyNorm, groups(kvHeads)), value];
}
/** One matrix for each projection of the map. */
export function splitColumns(columns, { parts }) {
    if (isSplit(columns))
        return columns;
    let start = 0;
    return parts.map(({ width }) => {
        const part = columns.narrow(1, start, width);
        start += width;
        return part;
    });
}
export const isSplit = (columns) => Array.isArray(columns);
//# sourceMappingURL=layer.js.map