/** Attention over blocks of a shared cache, and the rope in front of it, against the same of operators in float64. */
import { expect, test } from 'vitest'
import { decodeAttentionKernel, pagedRopeKernel } from '../../src/kernels/index.js'
import { manualSeed, randn, randperm, synchronize, Tensor } from '../../src/tensor/index.js'
import { describeCuda, device, relativeError, tolerance } from '../support/device.js'
import { decodeAttentionReference, pagedRopeReference, slotOf } from './paged-attention-reference.js'

manualSeed(11)
const ints = (values: readonly number[]): Tensor => Tensor.from(Int32Array.from(values), { device })

interface Case {
  heads: number
  kvHeads: number
  headDim: number
  splits: number
  warps: number
  /** Of each row; -1: the row is not there. */
  positions: readonly number[]
}

const cases: Case[] = [
  { heads: 14, kvHeads: 2, headDim: 64, splits: 1, warps: 4, positions: [0, 15, 16, 17, 127, 128, 255, -1, 3] },
  { heads: 14, kvHeads: 2, headDim: 64, splits: 1, warps: 8, positions: [200, 0, 31, 999] },
  { heads: 14, kvHeads: 2, headDim: 64, splits: 4, warps: 4, positions: [0, 5, 63, 64, 700, -1, 1023] },
  { heads: 14, kvHeads: 2, headDim: 64, splits: 16, warps: 8, positions: [4095, 12] },
  { heads: 4, kvHeads: 2, headDim: 16, splits: 1, warps: 4, positions: [40, 1, 15] },
  { heads: 4, kvHeads: 2, headDim: 32, splits: 2, warps: 8, positions: [40, 1, 300] },
  { heads: 16, kvHeads: 8, headDim: 128, splits: 1, warps: 8, positions: [77, 190] },
  { heads: 32, kvHeads: 2, headDim: 128, splits: 1, warps: 4, positions: [33, 500] },
  { heads: 40, kvHeads: 2, headDim: 64, splits: 2, warps: 4, positions: [33, 500] },
  { heads: 4, kvHeads: 4, headDim: 96, splits: 1, warps: 4, positions: [33, 50] },
]

describeCuda('paged attention', () => {
  const each = (['bfloat16', 'float16'] as const).flatMap(dtype => cases.map(given => ({ dtype, ...given })))
  test.each(each)(
    '$dtype, $heads heads over $kvHeads of $headDim, $splits splits, $warps warps',
    async ({ dtype, splits, warps, positions, ...shape }) => {
      const { heads, kvHeads, headDim } = shape
      const rows = positions.length
      const width = Math.max(...positions.map(p => Math.floor(p / 16) + 1))
      const total = rows * width + 3
      const order = randperm(total, { dtype: 'int32' }).toArray() as Int32Array
      const blockTable = positions.map((_, row) => Array.from(order.slice(row * width, (row + 1) * width)))
      const qkv = randn([rows, (heads + 2 * kvHeads) * headDim], { device }).cast(dtype)
      const angles = randn([Math.max(...positions) + 1, headDim / 2])
      const tables = { cos: angles.cos().to(device), sin: angles.sin().to(device) }
      const exactTables = { cos: angles.cos().cast('float64'), sin: angles.sin().cast('float64') }
      const make = (): Tensor => randn([total, kvHeads, 16, headDim], { device }).cast(dtype)
      const filled = { keys: make(), values: make() }
      const slotMapping = positions.map((position, row) => (position < 0 ? -1 : slotOf(blockTable[row]!, position)))
      // What lies behind a sequence's end may be anything.
      for (const [row, position] of positions.entries()) {
        if (position < 0) continue
        for (const cache of [filled.keys, filled.values])
          for (let p = position + 1; p < (Math.floor(position / 16) + 1) * 16; p++)
            cache
              .select(0, Math.floor(slotOf(blockTable[row]!, p) / 16))
              .select(1, p % 16)
              .fill_(Number.NaN)
      }
      const rowsOf = {
        count: rows,
        positions: ints(positions),
        sequences: null,
        blockTable: ints(blockTable.flat()),
        width: ints([width]),
      }
      const real = Int32Array.from(positions, p => Math.max(p, 0))
      const rotatedExact = pagedRopeReference(qkv.to('cpu', 'float64'), exactTables, real, shape)

      // Rotated and stored by one kernel, then read by the other; and all in one.
      const [apartCache, fusedCache] = [0, 1].map(() => ({
        keys: filled.keys.clone(),
        values: filled.values.clone(),
      })) as [typeof filled, typeof filled]
      const rotated = qkv.clone()
      pagedRopeKernel(dtype, shape)(rotated, tables, rowsOf, ints(slotMapping), apartCache)
      const attend = (fused: boolean) => decodeAttentionKernel(dtype, shape, { splits, warps, fused })
      const apart = attend(false)(rotated, tables, rowsOf, apartCache)
      const fused = attend(true)(qkv, tables, rowsOf, fusedCache)
      await synchronize()

      const there = positions.flatMap((p, i) => (p < 0 ? [] : [i]))
      const only = (x: Tensor): Tensor => x.indexSelect(0, Tensor.from(Int32Array.from(there), { device: x.device }))
      expect(relativeError(only(rotated), only(rotatedExact)), 'rope').toBeLessThan(tolerance[dtype])
      for (const name of ['keys', 'values'] as const)
        expect(apartCache[name].nanToNum(7).equal(fusedCache[name].nanToNum(7)), `both store the same ${name}`).toBe(
          true,
        )
      const exact = decodeAttentionReference(
        only(rotated.to('cpu', 'float64')),
        Int32Array.from(there, i => positions[i]!),
        there.map(i => blockTable[i]!),
        { keys: apartCache.keys.to('cpu', 'float64'), values: apartCache.values.to('cpu', 'float64') },
        shape,
      )
      for (const [how, found] of Object.entries({ apart, fused }))
        expect(relativeError(only(found), exact), how).toBeLessThan(tolerance[dtype])
      const missing = positions.indexOf(-1)
      if (missing >= 0) expect(fused.select(0, missing).abs().cast('float32').amax([0]).item()).toBe(0)
    },
  )
})
