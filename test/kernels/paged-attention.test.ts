import { expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import type { PagedShape } from '../../src/kernels/paged-attention.js'
import { manualSeed, randn, scaledDotProductAttention, scope, Tensor } from '../../src/tensor/index.js'
import { decodeAttentionReference, pagedRopeReference, slotOf } from './paged-attention-reference.js'

const shape: PagedShape = { heads: 6, kvHeads: 2, headDim: 16 }
const dtype = 'float64'
const ids = (values: Int32Array): Tensor => Tensor.from(values)
const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().amax([0, 1]).item()

test('the reference turns as the model does', () => {
  manualSeed(1)
  scope(() => {
    const { heads, kvHeads, headDim } = shape
    const positions = Int32Array.of(3, 0, 5)
    const qkv = randn([3, (heads + 2 * kvHeads) * headDim], { dtype })
    const angles = randn([6, headDim / 2], { dtype })
    const tables = { cos: angles.cos(), sin: angles.sin() }
    const own = [tables.cos, tables.sin].map(blockTable => blockTable.at([0, 6]).indexSelect(0, ids(positions)))
    const [rotated, rest] = fusedOps({ device: 'cpu', dtype }).rope({
      rotated: heads + kvHeads,
      rest: kvHeads,
      headDim,
    })(qkv, own[0]!, own[1]!)
    const found = pagedRopeReference(qkv, tables, positions, shape)
    expect(far(found.narrow(1, 0, (heads + kvHeads) * headDim), rotated.flatten(1))).toBeLessThan(1e-14)
    expect(far(found.narrow(1, (heads + kvHeads) * headDim, kvHeads * headDim), rest.flatten(1))).toBe(0)
  })
})

test("the reference's attention over blocks is libtorch's over what they hold", () => {
  manualSeed(2)
  scope(() => {
    const { heads, kvHeads, headDim } = shape
    const positions = Int32Array.of(20, 0, 15, 16)
    const blockTable = [[7, 2], [0], [5], [1, 6]]
    const rotated = randn([4, (heads + 2 * kvHeads) * headDim], { dtype })
    const cache = {
      keys: randn([8, kvHeads, 16, headDim], { dtype }),
      values: randn([8, kvHeads, 16, headDim], { dtype }),
    }
    const found = decodeAttentionReference(rotated, positions, blockTable, cache, shape)
    for (const [row, position] of positions.entries()) {
      const seen = (all: Tensor): Tensor => {
        const slotMapping = Int32Array.from({ length: position + 1 }, (_, p) => slotOf(blockTable[row]!, p))
        return all
          .transpose(1, 2)
          .reshape([-1, kvHeads, headDim])
          .indexSelect(0, ids(slotMapping))
          .transpose(0, 1)
          .unsqueeze(0)
      }
      const query = rotated
        .select(0, row)
        .narrow(0, 0, heads * headDim)
        .view([1, heads, 1, headDim])
      const exact = scaledDotProductAttention(query, seen(cache.keys), seen(cache.values), null, 0, { enableGqa: true })
      expect(far(found.narrow(0, row, 1), exact.reshape([1, -1]))).toBeLessThan(1e-12)
    }
  })
})
