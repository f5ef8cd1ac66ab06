/**
 * A projection, the residual added and the norm of the sum, where there are few rows: a product of few rows and columns has
 * too few tiles to fill a card, so its inner dimension is divided, and the parts are summed where they are normed
 * (sum-rms-norm.cu). It has no gradients.
 */
import {
  callOperator,
  Kernel,
  type KernelParameter,
  type NumberLike,
  operatorExists,
  type Tensor,
} from '../tensor/index.js'
import type { HalfDType } from './paged-attention.js'

/** Whether this libtorch has products of 16-bit numbers with float32 results. */
export function splitKLinearExists(): boolean {
  return operatorExists('aten::bmm.dtype')
}

/** Into how many parts to divide the product of this many rows; 1: not at all. */
export function planSplit(rows: number, hidden: number, inner: number): number {
  const vectors = hidden / 8
  if (!Number.isInteger(vectors) || vectors > 1024) return 1
  const tiles = Math.ceil(rows / 128) * Math.ceil(hidden / 128)
  // Measured on an H200: more parts, or shorter ones, cost more to sum than they save.
  const pays = (parts: number, least: number): boolean =>
    tiles * parts <= 56 && inner % (8 * parts) === 0 && inner / parts >= least
  return pays(4, 1024) ? 4 : pays(2, 256) ? 2 : 1
}

/** `x` is `[rows, inner]`, the weight `[hidden, inner]`; the norm of `x @ weight.T + bias + residual`, and the sum. */
export function splitKLinearKernel(dtype: HalfDType, hidden: number, parts: number) {
  const elements: KernelParameter = `tensor:${dtype}`
  const kernel = new Kernel({
    file: new URL('./sum-rms-norm.cu', import.meta.url),
    entry: 'sum_rms_norm',
    parameters: ['tensor:float32', elements, elements, elements, elements, elements, 'float32'],
    define: { T: dtype, HIDDEN: hidden, PARTS: parts },
  })
  const block = [Math.ceil(hidden / 8 / 32) * 32] as const
  return (
    rows: NumberLike,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | null,
    residual: Tensor,
    norm: Tensor,
    eps: number,
  ): readonly [normed: Tensor, sum: Tensor] => {
    const left = x.unflatten(-1, [parts, -1]).transpose(0, 1)
    const right = weight.unflatten(-1, [parts, -1]).permute([1, 2, 0])
    const products = callOperator('aten::bmm.dtype', left, right, { out_dtype: 'float32' }) as Tensor
    const [normed, sum] = [residual.emptyLike(), residual.emptyLike()]
    kernel.launch({ grid: [rows], block }, products, bias, residual, norm, normed, sum, eps)
    return [normed, sum]
  }
}
