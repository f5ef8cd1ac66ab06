/** RMSNorm, with or without the residual add before it, as CUDA kernels (rms-norm.cu). */
import {
  ArgumentError,
  customFunction,
  dtypeBytes,
  Kernel,
  type KernelParameter,
  type Sym,
  type Tensor,
} from '../tensor/index.js'
import type { FusedDType, FusedOps } from './fused-ops.js'

type Norms = Pick<FusedOps, 'rmsNorm' | 'addRmsNorm'>

const BLOCK = 256
/** Blocks of the backward, each with its own part of the weight's gradient. The same on every card: so are the results. */
const STRIPS = 264
/** Columns that one block of the second stage sums. */
const COLUMNS = 32

/** How many threads hold a row of this many 16-byte vectors: one vector each up to a warp, then about four. */
export function threadsOfRow(vectors: number): number {
  const wanted = vectors <= 32 ? vectors : Math.max(32, vectors / 4)
  return 2 ** Math.ceil(Math.log2(wanted))
}

export function rmsNormKernel(dtype: FusedDType, composed: Norms): Norms {
  const byHidden = new Map<number, Norms>()
  // The kernels are compiled for one size of rows. It is read off the weight, the one tensor that is there already while a
  // model is being recorded.
  const forWeight = (weight: Tensor): Norms => {
    if (weight.ref < 0)
      throw new ArgumentError(
        'the weight of a norm must exist when the program is recorded; capture it instead of passing it in',
      )
    const { shape, dtype: given } = weight
    const [hidden] = shape
    if (hidden === undefined || shape.length !== 1 || given !== dtype)
      throw new ArgumentError(`the weight of a norm is a ${dtype} vector, got ${weight}`)
    let norms = byHidden.get(hidden)
    if (!norms) {
      norms = fits(hidden, dtype) ? normsOf(dtype, hidden) : composed
      byHidden.set(hidden, norms)
    }
    return norms
  }
  return {
    rmsNorm: (x, weight, eps) => forWeight(weight).rmsNorm(x, weight, eps),
    addRmsNorm: (x, residual, weight, eps) => forWeight(weight).addRmsNorm(x, residual, weight, eps),
  }
}

/** Whole vectors, and a row in the registers of one block. */
export function fits(hidden: number, dtype: FusedDType): boolean {
  const vectors = (hidden * dtypeBytes(dtype)) / 16
  return hidden > 0 && hidden % 8 === 0 && threadsOfRow(vectors) <= 1024
}

function normsOf(dtype: FusedDType, hidden: number): Norms {
  const rowThreads = threadsOfRow((hidden * dtypeBytes(dtype)) / 16)
  const rowsOfBlock = Math.max(1, BLOCK / rowThreads)
  const block = [rowThreads * rowsOfBlock] as const
  const elements: KernelParameter = `tensor:${dtype}`
  const wide: KernelParameter = 'tensor:float32'

  const kernels = (residual: 0 | 1) => {
    const define = { T: dtype, HIDDEN: hidden, RESIDUAL: residual, ROW_THREADS: rowThreads, ROWS: rowsOfBlock, STRIPS }
    const kernel = (entry: string, parameters: KernelParameter[]) =>
      new Kernel({ file: new URL('./rms-norm.cu', import.meta.url), entry, parameters, define })
    const seven = [elements, elements, elements]
    return {
      forward: kernel('rms_norm_forward', [...seven, elements, elements, wide, 'float32', 'int64']),
      backward: kernel('rms_norm_backward', [...seven, wide, elements, elements, wide, 'int64']),
      weightGradient: kernel('rms_norm_weight_gradient', [wide, elements]),
    }
  }
  const plain = kernels(0)
  const added = kernels(1)

  /** How many rows; refuses a tensor whose rows are of another size, before a kernel reads past them. */
  const countRows = (x: Tensor): Sym => {
    const rows = x.flatten(0, -2).size(0) as unknown as Sym // these functions only ever see recorded tensors
    x.view([rows, hidden])
    return rows
  }

  const forward = (x: Tensor, residual: Tensor | undefined, weight: Tensor, eps: Sym) => {
    const input = x.contiguous()
    const rows = countRows(input)
    const other = residual?.contiguous()
    other?.view([rows, hidden])
    const normed = input.emptyLike()
    const sum = other ? input.emptyLike() : undefined
    const rstd = input.newEmpty([rows], { dtype: 'float32' })
    const grid = [rows.add(rowsOfBlock - 1).div(rowsOfBlock)] as const
    const { forward } = other ? added : plain
    forward.launch({ grid, block }, input, other ?? null, weight, normed, sum ?? null, rstd, eps, rows)
    return { normed, sum: sum ?? input, rstd }
  }

  const backward = (saved: readonly Tensor[], gradient: Tensor, sumGradient: Tensor | undefined) => {
    const [sum, weight, rstd] = saved as [Tensor, Tensor, Tensor]
    const { backward, weightGradient } = sumGradient ? added : plain
    const x = sum.emptyLike()
    const partial = sum.newEmpty([STRIPS, hidden], { dtype: 'float32' })
    const through = sumGradient?.contiguous() ?? null
    backward.launch(
      { grid: [STRIPS], block },
      gradient.contiguous(),
      sum,
      weight,
      rstd,
      through,
      x,
      partial,
      rstd.size(0),
    )
    const total = weight.emptyLike()
    weightGradient.launch({ grid: [Math.ceil(hidden / COLUMNS)], block: [COLUMNS * 16] }, partial, total)
    return { x, weight: total }
  }

  return {
    rmsNorm: customFunction({
      inputs: ['tensor', 'tensor', 'number'],
      forward: (x, weight, eps) => {
        const { normed, sum, rstd } = forward(x, undefined, weight, eps)
        return { outputs: normed, saved: [sum, weight, rstd] }
      },
      backward: ({ saved, gradients: [gradient] }) => {
        const found = backward(saved, gradient!, undefined)
        return [found.x, found.weight]
      },
    }),
    addRmsNorm: customFunction({
      inputs: ['tensor', 'tensor', 'tensor', 'number'],
      forward: (x, residual, weight, eps) => {
        const { normed, sum, rstd } = forward(x, residual, weight, eps)
        return { outputs: [normed, sum] as const, saved: [sum, weight, rstd] }
      },
      backward: ({ saved, gradients: [gradient, sumGradient] }) => {
        const found = backward(saved, gradient!, sumGradient)
        return [found.x, found.x, found.weight]
      },
    }),
  }
}

/** The backward of a norm over a float32 stream, whose factor the next product applies (rms-norm.cu). */
export function normBackwardKernels(hidden: number) {
  const rowThreads = threadsOfRow(hidden / 8)
  const rowsOfBlock = Math.max(1, BLOCK / rowThreads)
  const [elements, wide]: KernelParameter[] = ['tensor:bfloat16', 'tensor:float32']
  const kernel = (entry: string, parameters: KernelParameter[], residual: 0 | 1) =>
    new Kernel({
      file: new URL('./rms-norm.cu', import.meta.url),
      entry,
      parameters,
      define: {
        T: 'bfloat16',
        HIDDEN: hidden,
        RESIDUAL: residual,
        ROW_THREADS: rowThreads,
        ROWS: rowsOfBlock,
        STRIPS,
      },
    })
  const parameters = [elements!, wide!, elements!, wide!, wide!, wide!, elements!, wide!, 'int64' as const]
  const [alone, added] = ([0, 1] as const).map(residual => kernel('deferred_norm_backward', parameters, residual))
  const weightGradient = kernel('rms_norm_weight_gradient', [wide!, elements!], 0)
  const block = [rowThreads * rowsOfBlock] as const
  return (given: { gradient: Tensor; sum: Tensor; weight: Tensor; rstd: Tensor; sumGradient: Tensor | null }) => {
    const { gradient, sum, weight, rstd, sumGradient } = given
    const stream = sum.emptyLike()
    const rounded = gradient.emptyLike()
    const partial = sum.newEmpty([STRIPS, hidden])
    const through = sumGradient?.contiguous() ?? null
    const arguments_ = [gradient.contiguous(), sum, weight, rstd, through, stream, rounded, partial, rstd.size(0)]
    const shape = { grid: [STRIPS], block } as const
    ;(through ? added! : alone!).launch(shape, ...arguments_)
    const total = weight.emptyLike()
    weightGradient.launch({ grid: [Math.ceil(hidden / COLUMNS)], block: [COLUMNS * 16] }, partial, total)
    return { stream, rounded, weight: total }
  }
}
