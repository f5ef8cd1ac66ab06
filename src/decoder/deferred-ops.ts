/** The table of operations over a float32 stream, where a norm's factor goes on behind the projection that reads it. */
import type { DeferredNorm, DeferredOps } from '../kernels/index.js'
import type { Tensor } from '../tensor/index.js'
import { type AdapterLookup, adapting, joinColumns, normColumns, type PlainOps } from './composed-ops.js'
import type { DecoderConfig } from './config.js'
import type { Columns, LayerOps, LinearMap } from './layer.js'
import { embedRows } from './vision/index.js'

interface DeferredParts
  extends Pick<PlainOps, 'linear' | 'rmsNorm' | 'swiglu' | 'attend' | 'store' | 'normColumns' | 'addLowRank'> {
  deferred: DeferredOps
  gradients: 'recorded' | 'none'
  /** Into how many parts the inner dimension of a product that joins the stream is divided. Default: one. */
  split?(inner: number): number
}

/** For families whose norms stand in front of attention and MLP. */
export function deferredLayerOps(
  { normEps, hidden }: Pick<DecoderConfig, 'normEps' | 'hidden'>,
  ops: DeferredParts,
  adapter?: AdapterLookup | undefined,
): LayerOps<DeferredNorm> {
  const { deferred } = ops
  const { isAdapted, adapt } = adapting(adapter, ops.addLowRank)
  const rmsNorm = (x: Tensor, weight: Tensor): Tensor => ops.rmsNorm(x, weight, normEps)
  const linear = (x: DeferredNorm, map: LinearMap): Columns => {
    const out = deferred.linear(x, map.weight, map.bias)
    return isAdapted(map) ? adapt(out, deferred.rows(x, hidden), map) : out
  }
  return {
    attend: ops.attend,
    ...(ops.store && { store: ops.store }),
    linear,
    begin: (ids, { table, norm, media }) => {
      const residual = embedRows(table, ids, media).toCopy({ dtype: 'float32' })
      return { residual, normed: deferred.norm(residual, norm!, normEps) }
    },
    resume: (residual, norm) => ({ residual, normed: deferred.norm(residual, norm, normEps) }),
    normColumns: ops.normColumns ?? ((x, weight, groups) => normColumns(rmsNorm, x, weight, groups)),
    gated: (x, map) =>
      isAdapted(map) ? ops.swiglu(joinColumns(linear(x, map))) : deferred.gated(x, map.weight, ops.gradients),
    join: (x, map, { residual, norm }) => {
      const { weight, bias } = map
      if (!isAdapted(map)) {
        const parts = ops.split?.(weight.shape[1]!) ?? 1
        return deferred.join(x, { weight, bias, residual, norm, parts }, normEps)
      }
      const out = joinColumns(adapt(ops.linear(x, weight, bias), x, map))
      return deferred.add(out, { residual, norm }, normEps)
    },
    end: ({ normed }) => deferred.rows(normed, hidden),
  }
}
