import { embedding } from '../tensor/index.js';
import { adapting, joinColumns, normColumns } from './composed-ops.js';
/** For families whose norms stand in front of attention and MLP. */
export function deferredLayerOps({ normEps, hidden }, ops, adapter) {
    const { deferred } = ops;
    const { isAdapted, adapt } = adapting(adapter, ops.addLowRank);
    const rmsNorm = (x, weight) => ops.rmsNorm(x, weight, normEps);
    const linear = (x, map) => {
        const out = deferred.linear(x, map.weight, map.bias);
        return isAdapted(map) ? adapt(out, deferred.rows(x, hidden), map) : out;
    };
    return {
        attend: ops.attend,
        ...(ops.store && { store: ops.store }),
        linear,
        begin: (ids, { table, norm }) => {
            const residual = embedding(table, ids).toCopy({ dtype: 'float32' });
            return { residual, normed: deferred.norm(residual, norm, normEps) };
        },
        normColumns: ops.normColumns ?? ((x, weight, groups) => normColumns(rmsNorm, x, weight, groups)),
        gated: (x, map) => isAdapted(map) ? ops.swiglu(joinColumns(linear(x, map))) : deferred.gated(x, map.weight, ops.gradients),
        join: (x, map, { residual, norm }) => {
            const { weight, bias } = map;
            if (!isAdapted(map)) {
                const parts = ops.split?.(weight.shape[1]) ?? 1;
                return deferred.join(x, { weight, bias, residual, norm, parts }, normEps);
            }
            const out = joinColumns(adapt(ops.linear(x, weight, bias), x, map));
            return deferred.add(out, { residual, norm }, normEps);
        },
        end: ({ normed }) => deferred.rows(normed, hidden),
    };
}
//# sourceMappingURL=deferred-ops.js.map