/** Tables of operations over plain rows: `LayerOps` composed of norms, products and activations that a device has. */
import { cat, type Tensor } from '../tensor/index.js'
import type { DecoderConfig } from './config.js'
import { type Columns, isSplit, type LayerOps, type LinearMap, splitColumns } from './layer.js'
import { embedRows } from './vision/index.js'
import type { Projection } from './weight-map.js'

/** What an adapter adds to a projection: `scale * b(a(x))`. */
export interface LowRank {
  a: Tensor
  b: Tensor
  scale: number
  dropout: number
}

/** Where in the model an adapter's input is. */
interface AdapterPlace {
  layer: number
  projection: Projection
}

/** What a device has operators of its own for. */
export interface PlainOps extends Pick<LayerOps, 'attend' | 'store'> {
  linear(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor
  rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor
  /** The norm of `x + residual`, and the sum. */
  addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: number): readonly [normed: Tensor, sum: Tensor]
  /** A projection, its residual and the norm of their sum, where the device has something better than one after another. */
  linearAddRmsNorm?(
    x: Tensor,
    given: { weight: Tensor; bias: Tensor | null; residual: Tensor; norm: Tensor },
    eps: number,
  ): readonly [normed: Tensor, sum: Tensor]
  /** `silu(gate) * up` of `[rows, gate then up]`. */
  swiglu(gateUp: Tensor): Tensor
  /** That of a projection, where the device has something better than one after the other. */
  gatedLinear?(x: Tensor, weight: Tensor): Tensor
  /** Norms of groups of columns of a wider matrix. Default: of the groups as rows. */
  normColumns?(x: Tensor, weight: Tensor, groups: number): Tensor
  /** `out` and what the adapter makes of `input`. Only tables that are used with adapters have it. */
  addLowRank?(out: Tensor, input: Tensor, low: LowRank, place: AdapterPlace): Tensor
}

export type AdapterLookup = (layer: number, projection: Projection) => LowRank | undefined

/** What an adapter, where there is one, adds to the projections of a map. */
export function adapting(adapter: AdapterLookup | undefined, addLowRank: PlainOps['addLowRank']) {
  const isAdapted = ({ layer, parts }: LinearMap): boolean =>
    adapter !== undefined && parts.some(({ projection }) => adapter(layer, projection) !== undefined)
  /** `out`, the map's projection of `input`, with it. */
  const adapt = (out: Tensor, input: Tensor, map: LinearMap): Columns => {
    const { layer, parts } = map
    const outs = parts.length === 1 ? [out] : splitColumns(out, map)
    return outs.map((part, i) => {
      const { projection } = parts[i]!
      const low = adapter?.(layer, projection)
      if (!low) return part
      if (!addLowRank) throw new RangeError('an adapter is on, and these operations take none')
      return addLowRank(part, input, low, { layer, projection })
    })
  }
  return { isAdapted, adapt }
}

export function composeLayerOps(
  { normEps, norms }: Pick<DecoderConfig, 'normEps' | 'norms'>,
  ops: PlainOps,
  adapter?: AdapterLookup | undefined,
): LayerOps {
  const { isAdapted, adapt } = adapting(adapter, ops.addLowRank)
  const linear = (x: Tensor, map: LinearMap): Columns => {
    const out = ops.linear(x, map.weight, map.bias)
    return isAdapted(map) ? adapt(out, x, map) : out
  }

  const rmsNorm = (x: Tensor, weight: Tensor): Tensor => ops.rmsNorm(x, weight, normEps)

  return {
    attend: ops.attend,
    ...(ops.store && { store: ops.store }),
    linear,
    begin: (ids, { table, norm, media }) => {
      const residual = embedRows(table, ids, media)
      return { residual, normed: norm ? rmsNorm(residual, norm) : residual }
    },
    resume: (residual, norm) => ({ residual, normed: rmsNorm(residual, norm) }),
    normColumns: ops.normColumns ?? ((x, weight, groups) => normColumns(rmsNorm, x, weight, groups)),
    gated: (x, map) =>
      ops.gatedLinear && !isAdapted(map) ? ops.gatedLinear(x, map.weight) : ops.swiglu(joinColumns(linear(x, map))),
    join: (x, map, { residual, norm }) => {
      if (norms === 'after') {
        const sum = rmsNorm(joinColumns(linear(x, map)), norm).add(residual)
        return { residual: sum, normed: sum }
      }
      const { weight, bias } = map
      const [normed, sum] =
        ops.linearAddRmsNorm && !isAdapted(map)
          ? ops.linearAddRmsNorm(x, { weight, bias, residual, norm }, normEps)
          : ops.addRmsNorm(joinColumns(linear(x, map)), residual, norm, normEps)
      return { residual: sum, normed }
    },
    end: ({ normed, residual }, norm) => (norm ? rmsNorm(residual, norm) : normed),
  }
}

/** Groups of columns of a wider matrix, normalised as rows. */
export function normColumns(
  rmsNorm: (x: Tensor, weight: Tensor) => Tensor,
  x: Tensor,
  weight: Tensor,
  groups: number,
): Tensor {
  const width = weight.shape[0]!
  const rows = groups === 1 ? x.contiguous() : x.reshape([-1, width])
  return rmsNorm(rows, weight).view([-1, width * groups])
}

/** One matrix of all columns. */
export function joinColumns(columns: Columns): Tensor {
  if (!isSplit(columns)) return columns
  return columns.length === 1 ? columns[0]! : cat(columns, 1)
}
