/** The float32 stream and its norms as CUDA kernels for Hopper (deferred-norm.cu, scaled-linear.cu, gated-linear.cu, rms-norm.cu). */
import {
  callOperator,
  cudaDevice,
  type Device,
  type DType,
  Kernel,
  type KernelParameter,
  type NumberLike,
  operatorExists,
  type Sym,
  type Tensor,
} from '../tensor/index.js'
import { type DeferredKernels, type DeferredOpsBySize, deferredOps } from './deferred-norm.js'
import { gatedLinearKernel } from './gated-linear.js'
import { memoized } from './memoized.js'
import { fits, normBackwardKernels } from './rms-norm.js'
import { scaledLinearKernel } from './scaled-linear.js'
import { swigluKernel } from './swiglu.js'

const elements: KernelParameter = 'tensor:bfloat16'
const wide: KernelParameter = 'tensor:float32'

/** A shape of a decoder whose layers the kernels take. */
interface DeferredShape {
  norms: 'before' | 'after'
  hidden: number
  intermediate: number
  heads: number
  kvHeads: number
  headDim: number
}

const made = memoized((multiprocessors: number) => ({
  many: deferredOps(cudaKernels(multiprocessors, 'many')),
  few: deferredOps(cudaKernels(multiprocessors, 'few')),
}))

/** Undefined if the kernels do not support the device, the dtype or the model. */
export function deferredOpsFor(
  shape: DeferredShape,
  { device, dtype }: { device: Device; dtype: DType },
): DeferredOpsBySize | undefined {
  const { norms, hidden, intermediate, heads, kvHeads, headDim } = shape
  const card = device === 'cpu' || dtype !== 'bfloat16' ? undefined : cudaDevice(device)
  if (!card || Math.floor(Number(card.capability)) !== 9 || !operatorExists('aten::mm.dtype')) return undefined
  const whole = [hidden, intermediate, heads * headDim, kvHeads * headDim].every(width => width % 8 === 0)
  if (norms !== 'before' || !whole || !fits(hidden, 'bfloat16') || hidden > 8192) return undefined
  return made(card.multiprocessors)
}

/** `x @ weight.T` in float32, the inner dimension in parts. */
function product(x: Tensor, weight: Tensor, parts: number): Tensor {
  const out = { out_dtype: 'float32' } as const
  if (parts === 1) return (callOperator('aten::mm.dtype', x, weight.t(), out) as Tensor).unsqueeze(0)
  const left = x.unflatten(-1, [parts, -1]).transpose(0, 1)
  const right = weight.unflatten(-1, [parts, -1]).permute([1, 2, 0])
  return callOperator('aten::bmm.dtype', left, right, out) as Tensor
}

/** For a card with this many multiprocessors. For few rows, libtorch divides products better among them. */
export function cudaKernels(multiprocessors: number, rowCount: 'many' | 'few'): DeferredKernels {
  const file = new URL('./deferred-norm.cu', import.meta.url)
  const norm = memoized(
    ({ hidden, parts }: { hidden: number; parts: number }) =>
      new Kernel({
        file,
        entry: 'deferred_norm',
        parameters: [wide, elements, wide, elements, elements, wide, wide, 'float32'],
        define: { T: 'bfloat16', HIDDEN: hidden, PARTS: parts },
      }),
  )
  const ints: KernelParameter[] = ['int64', 'int32']
  const kernel = (entry: string, parameters: KernelParameter[]) =>
    new Kernel({ file, entry, parameters, define: { T: 'bfloat16' } })
  const scale = kernel('scale_rows', [elements, wide, elements, ...ints])
  const finish = kernel('finish_rows', [wide, wide, elements, elements, ...ints])
  /** A thread for each of `count`. */
  const threadEach = (count: Sym) => ({ grid: [count.add(255).div(256)], block: [256] }) as const
  const normBackward = memoized(normBackwardKernels)
  const linear = scaledLinearKernel(multiprocessors)
  const gated = gatedLinearKernel(multiprocessors)
  const swiglu = swigluKernel('bfloat16')
  interface Sum {
    products: Tensor | null
    parts: number
    bias: Tensor | null
    stream: Tensor
    weight: Tensor
    hidden: number
    eps: NumberLike
  }
  const sumNorm = ({ products, parts, bias, stream, weight, hidden, eps }: Sum) => {
    const rows = stream.size(0)
    const values = stream.newEmpty([rows, hidden], { dtype: 'bfloat16' })
    const sum = products && stream.emptyLike()
    const rstd = stream.newEmpty([rows])
    const shape = { grid: [rows], block: [Math.ceil(hidden / 8 / 32) * 32] } as const
    norm({ hidden, parts }).launch(shape, products, bias, stream, weight, values, sum, rstd, eps)
    return { values, rstd, sum: sum ?? stream }
  }

  return {
    norm: ({ added, ...given }) => sumNorm({ products: added, parts: added ? 1 : 0, bias: null, ...given }),
    join: (x, { weight, bias, parts, stream, norm, hidden, eps }) =>
      sumNorm({ products: product(x, weight, parts), parts, bias, stream, weight: norm, hidden, eps }),
    normBackward: ({ hidden, ...given }) => normBackward(hidden)(given),
    linear: ({ values, rstd }, given) => {
      if (rowCount === 'many') return linear(values, { ...given, factors: rstd })
      const { weight, bias, features } = given
      const rows = rstd.size(0) as unknown as Sym
      const out = values.newEmpty([rows, features])
      const vectors = features / 8
      finish.launch(threadEach(rows.mul(vectors)), product(values, weight, 1), rstd, bias, out, rows, vectors)
      return out
    },
    gated: ({ values, rstd }, { weight, features, inner, keep }) => {
      const gateUp = keep ? values.newEmpty([values.size(0), 2 * features]) : undefined
      const out = gated(values, weight, { features, inner, factors: rstd, ...(gateUp && { gateUp }) })
      return { out, gateUp: gateUp ?? null }
    },
    gatedBackward: (gradient, gateUp, rstd) => swiglu.backward(gradient, gateUp, rstd),
    scaleRows: (x, rstd, width) => {
      const rows = rstd.size(0) as unknown as Sym
      const out = x.emptyLike()
      const vectors = width / 8
      scale.launch(threadEach(rows.mul(vectors)), x.view([rows, width]), rstd, out, rows, vectors)
      return out
    },
  }
}
