/** The projections of skinny-gemm.ts of operators alone: what they are measured against. */

import { rounding } from '../../src/kernels/rounding.js'
import type { DeferredRmsNorm, SkinnyGemm } from '../../src/kernels/skinny-gemm.js'
import { type DType, embedding, linear, type Tensor } from '../../src/tensor/index.js'

/** Sums of squares are in one part. */
export function skinnyGemmReference(dtype: DType, eps: number): SkinnyGemm {
  const { widen, narrow } = rounding(dtype)

  const deferredRmsNorm = (stream: Tensor, norm: Tensor): DeferredRmsNorm => {
    const squares = stream.square().sum([-1]).unsqueeze(0)
    return { values: narrow(stream.mul(widen(norm))), squares, parts: 1, width: norm.shape[0]! }
  }
  const factorOf = ({ squares, width }: DeferredRmsNorm): Tensor =>
    squares.sum([0]).div(width).add(eps).rsqrt().unsqueeze(-1)
  /** The product of the norm, not yet rounded. */
  const normedLinear = (x: DeferredRmsNorm, weight: Tensor): Tensor =>
    linear(widen(x.values), widen(weight), null).mul(factorOf(x))

  return {
    begin: (ids, { table, norm }) => {
      const residual = widen(embedding(table, ids))
      return { residual, normed: deferredRmsNorm(residual, norm) }
    },
    plain: (x, { weight, bias }) => {
      const product = normedLinear(x, weight)
      return narrow(bias ? product.add(widen(bias)) : product)
    },
    gated: (x, { weight }) => {
      const [gate, up] = normedLinear(x, weight).chunk(2, -1) as [Tensor, Tensor]
      return narrow(gate.silu().mul(up))
    },
    stream: (x, { weight, bias, residual, norm }) => {
      residual.add_(linear(widen(x), widen(weight), bias && widen(bias)))
      return deferredRmsNorm(residual, norm)
    },
    end: x => narrow(widen(x.values).mul(factorOf(x))),
  }
}
