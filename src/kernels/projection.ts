/** What the kernels of Hopper's projections have in common (projection.cuh), and how they read the weight of a gated one. */
import type { Tensor } from '../tensor/index.js'

/** What projection.cuh needs: a product of this width. Its instruction names every register of a thread's share. */
export function productDefines(columns: number): Record<string, string | number> {
  const count = columns / 2
  const each = (text: (i: number) => string): string => Array.from({ length: count }, (_, i) => text(i)).join(', ')
  return {
    COLUMNS: columns,
    SHAPE: `"m64n${columns}k16"`,
    REGISTERS: `"${each(i => `%${i}`)}"`,
    LEFT: `"%${count}"`,
    RIGHT: `"%${count + 1}"`,
    OUTPUTS: each(i => `"+f"(d[${i}])`),
  }
}

/** A weight of `features` gates, then as many ups, as eight gates and the eight ups that belong to them. */
export function gatePairs(weight: Tensor, features: number, inner: number): Tensor {
  return weight.view([2, features / 8, 8, inner]).permute([1, 0, 2, 3])
}

/** Features at a time. */
export const gatePairsBox = (features: number): readonly number[] => [features / 16, 2, 8, 64]
