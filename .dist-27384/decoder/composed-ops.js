/** Tables of operations over plain rows: `LayerOps` composed of norms, products and activations that a device has. */
import { cat, embedding } from '../tensor/index.js';
import { isSplit, splitColumns } from './layer.js';
/** What an adapter, where there is one, adds to the projections of a map. */
export function adapting(adapter, addLowRank) {
    const isAdapted = ({ layer, parts }) => adapter !== undefined && parts.some(({ projection }) => adapter(layer, projection) !== undefined);
    /** `out`, the map's projection of `input`, with it. */
    const adapt = (out, input, map) => {
        const { layer, parts } = map;
        const outs = parts.length === 1 ? [out] : splitColumns(out, map);
        return outs.map((part, i) => {
            const { projection } = parts[i];
            const low = adapter?.(layer, projection);
            if (!low)
                return part;
            if (!addLowRank)
                throw new RangeError('an adapter is on, and these operations take none');
            return addLowRank(part, input, low, { layer, projection });
        });
    };
    return { isAdapted, adapt };
}
export function composeLayerOps({ normEps, norms }, ops, adapter) {
    const { isAdapted, adapt } = adapting(adapter, ops.addLowRank);
    const linear = (x, map) => {
        const out = ops.linear(x, map.weight, map.bias);
        return isAdapted(map) ? adapt(out, x, map) : out;
    };
    const rmsNorm = (x, weight) => ops.rmsNorm(x, weight, normEps);
    return {
        attend: ops.attend,
        ...(ops.store && { store: ops.store }),
        linear,
        begin: (ids, { table, norm }) => {
            const residual = embedding(table, ids);
            return { residual, normed: norm ? rmsNorm(residual, norm) : residual };
        },
        normColumns: ops.normColumns ?? ((x, weight, groups) => normColumns(rmsNorm, x, weight, groups)),
        gated: (x, map) => ops.gatedLinear && !isAdapted(map) ? ops.gatedLinear(x, map.weight) : ops.swiglu(joinColumns(linear(x, map))),
        join: (x, map, { residual, norm }) => {
            if (norms === 'after') {
                const sum = rmsNorm(joinColumns(linear(x, map)), norm).add(residual);
                return { residual: sum, normed: sum };
            }
            const { weight, bias } = map;
            const [normed, sum] = ops.linearAddRmsNorm && !isAdapted(map)
                ? ops.linearAddRmsNorm(x, { weight, bias, residual, norm }, normEps)
                : ops.addRmsNorm(joinColumns(linear(x, map)), residual, norm, normEps);
            return { residual: sum, normed };
        },
        end: ({ normed, residual }, norm) => (norm ? rmsNorm(residual, norm) : normed),
    };
}
/** Groups of columns of a wider matrix, normalised as rows. */
export function normColumns(rmsNorm, x, weight, groups) {
    const width = weight.shape[0];
    const rows = groups === 1 ? x.contiguous() : x.reshape([-1, width]);
    return rmsNorm(rows, weight).view([-1, width * groups]);
}
/** One matrix of all columns. */
export function joinColumns(columns) {
    if (!isSplit(columns))
        return columns;
    return columns.length === 1 ? columns[0] : cat(columns, 1);
}
//# sourceMappingURL=composed-ops.js.map