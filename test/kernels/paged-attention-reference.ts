/** The paged kernels of operators alone: what they are measured against. Rows and tables as numbers, one sequence per row. */
import type { PagedCache, PagedShape, RopeTables } from '../../src/kernels/paged-attention.js'
import { cat, scope, Tensor } from '../../src/tensor/index.js'

const blockSize = 16

/** `whole` is `[rows, heads, headDim]`; each row's angle is that of its position. */
function turn(whole: Tensor, tables: RopeTables, positions: Tensor): Tensor {
  const [cos, sin] = [tables.cos, tables.sin].map(blockTable => blockTable.indexSelect(0, positions).unsqueeze(1))
  const [a, b] = whole.chunk(2, -1) as [Tensor, Tensor]
  return cat([a.mul(cos!).sub(b.mul(sin!)), b.mul(cos!).add(a.mul(sin!))], -1)
}

/** The projection with queries and keys rotated. */
export function pagedRopeReference(
  qkv: Tensor,
  tables: RopeTables,
  positions: Int32Array,
  { heads, kvHeads, headDim }: PagedShape,
): Tensor {
  return scope(() => {
    const all = qkv.view([positions.length, heads + 2 * kvHeads, headDim])
    const rotated = turn(all.narrow(1, 0, heads + kvHeads), tables, Tensor.from(positions, { device: qkv.device }))
    return cat([rotated, all.narrow(1, heads + kvHeads, kvHeads)], 1).flatten(1)
  })
}

/** Attention of a rotated projection's queries over the blocks `blockTable[row]`, each row up to its position. */
export function decodeAttentionReference(
  rotated: Tensor,
  positions: Int32Array,
  blockTable: readonly (readonly number[])[],
  { keys, values }: PagedCache,
  { heads, kvHeads, headDim }: PagedShape,
): Tensor {
  return scope(() => {
    const queries = rotated.view([positions.length, heads + 2 * kvHeads, headDim]).narrow(1, 0, heads)
    const rows = Array.from(positions, (position, row) => {
      const blocks = Tensor.from(Int32Array.from(blockTable[row]!), { device: rotated.device })
      const seen = (cache: Tensor): Tensor =>
        cache
          .indexSelect(0, blocks)
          .transpose(1, 2)
          .reshape([-1, kvHeads, headDim])
          .narrow(0, 0, position + 1)
          .transpose(0, 1)
      // [kvHeads, group, headDim]
      const query = queries.select(0, row).reshape([kvHeads, heads / kvHeads, headDim])
      const weights = query.matmul(seen(keys).transpose(1, 2)).div(Math.sqrt(headDim)).softmax(-1)
      return weights.matmul(seen(values)).reshape([1, heads * headDim])
    })
    return cat(rows, 0)
  })
}

/** Where a position's key and value lie. */
export function slotOf(blocks: readonly number[], position: number): number {
  return blocks[Math.floor(position / blockSize)]! * blockSize + (position % blockSize)
}
