/** SwiGLU as CUDA kernels (swiglu.cu). */
import { customFunction, dtypeBytes, Kernel, type KernelParameter, type Sym, type Tensor } from '../tensor/index.js'
import type { FusedDType, FusedOps } from './fused-ops.js'

const THREADS = 256
const PER_THREAD = 2

interface SwigluKernel extends Pick<FusedOps, 'swiglu'> {
  /** The gradient of `gateUp`; of rows with `factors`, float32 `[rows]`, times them. */
  backward(gradient: Tensor, gateUp: Tensor, factors: Tensor | null): Tensor
}

export function swigluKernel(dtype: FusedDType): SwigluKernel {
  const elements: KernelParameter = `tensor:${dtype}`
  const kernel = (entry: string, parameters: KernelParameter[]) =>
    new Kernel({
      file: new URL('./swiglu.cu', import.meta.url),
      entry,
      parameters,
      define: { T: dtype, THREADS, PER_THREAD },
    })
  const forward = kernel('swiglu_forward', [elements, elements, 'int64', 'int32'])
  const backward = kernel('swiglu_backward', [elements, elements, 'tensor:float32', elements, 'int64', 'int32'])

  /** `out` is `[..., inner]`; `launch` gets what both kernels end with. */
  const over = (out: Tensor) => {
    // Recorded, so these are values of the program.
    const inner = out.size(-1) as unknown as Sym
    const rows = out.flatten(0, -2).size(0) as unknown as Sym
    const perBlock = (16 / dtypeBytes(dtype)) * THREADS * PER_THREAD
    const blocks = rows
      .mul(inner)
      .add(perBlock - 1)
      .div(perBlock)
    return { shape: { grid: [blocks], block: [THREADS] } as const, rows, inner }
  }

  const gradientOf = (gradient: Tensor, gateUp: Tensor, factors: Tensor | null): Tensor => {
    const { shape, rows, inner } = over(gradient)
    const found = gateUp.emptyLike()
    backward.launch(shape, gradient.contiguous(), gateUp, factors, found, rows, inner)
    return found
  }

  return {
    backward: gradientOf,
    swiglu: customFunction({
      inputs: ['tensor'],
      forward: gateUp => {
        const input = gateUp.contiguous()
        // Refuses an odd last dimension, whose halves would not be equal.
        const out = input.unflatten(-1, [2, -1]).select(-2, 0).emptyLike()
        const { shape, rows, inner } = over(out)
        forward.launch(shape, input, out, rows, inner)
        return { outputs: out, saved: [input] }
      },
      backward: ({ saved: [gateUp], gradients: [gradient] }) => [gradientOf(gradient!, gateUp!, null)],
    }),
  }
}
