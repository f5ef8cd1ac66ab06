/** References compute as the kernels do: 16-bit elements in float32, rounded once at the end. */
import type { DType, Tensor } from '../tensor/index.js'
export function rounding(dtype: DType): { widen: (x: Tensor) => Tensor; narrow: (x: Tensor) => Tensor } {
  const half = dtype === 'bfloat16' || dtype === 'float16'
  return {
    widen: x => (half ? x.toCopy({ dtype: 'float32' }) : x),
    narrow: x => (half ? x.toCopy({ dtype }) : x),
  }
}
