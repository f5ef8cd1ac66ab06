import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { cutPatches, cutPatchesOnCpu, type Grid, patchesOf, tokensOf, towerLayout } from '../../src/decoder/index.js'
import { LocalModel } from '../../src/model/index.js'
import type { MediaPixels } from '../../src/sequence/index.js'
import { scope, Tensor, unscoped } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { fixture } from '../support/models.js'
import { visionFamilies } from '../support/vision-models.js'

const sides = fc.integer({ min: 1, max: 6 }).map(n => 2 * n)
const grids = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), sides, sides), { minLength: 1, maxLength: 4 })

test('frames and windows are cut as they should be, whatever the sizes', () => {
  fc.assert(
    fc.property(grids, fc.integer({ min: 1, max: 4 }), (given, side) => {
      const shape = { merge: 2, windows: { side, fullBlocks: [] }, tableSide: 5 }
      const { rows, columns, frames, windows, table } = towerLayout(given as Grid[], shape)
      const total = given.reduce((sum, grid) => sum + patchesOf(grid), 0)
      const frameOf = given.flatMap(([time, height, width], item) =>
        Array.from({ length: time }, (_, t) => Array<string>(height * width).fill(`${item} ${t}`)).flat(),
      )
      // The window of each patch, found from its place alone.
      const windowOf = frameOf.map(
        (frame, i) => `${frame} ${Math.floor(rows[i]! / 2 / side)} ${Math.floor(columns[i]! / 2 / side)}`,
      )
      for (const [segments, names] of [
        [frames, frameOf],
        [windows!, windowOf],
      ] as const) {
        const order = segments.order ?? Int32Array.from({ length: total }, (_, i) => i)
        expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i))
        const seen = new Set<string>()
        for (const { start, rows: count, length } of segments.groups)
          for (let at = start; at < start + count; at += length) {
            const inside = new Set(Array.from(order.subarray(at, at + length), row => names[row]!))
            expect(inside.size).toBe(1)
            const [name] = inside
            // Whole: it does not come again.
            expect(seen.has(name!)).toBe(false)
            seen.add(name!)
          }
        expect(seen.size).toBe(new Set(names).size)
      }
      for (let i = 0; i < total; i++) {
        const shares = [0, 1, 2, 3].map(k => table!.shares[k * total + i]!)
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6)
      }
    }),
    { numRuns: 60 },
  )
})

describe.each(visionFamilies)('%s', async name => {
  const model = await LocalModel.load(fixture(name), { role: 'language' })
  afterAll(() => model.dispose())
  const { vision } = model.config.decoder

  test('a quarter of the patches are tokens, and neighbours change none of them', async () => {
    let made = 0
    await fc.assert(
      fc.asyncProperty(grids, async given => {
        const items = given.map((grid): MediaPixels => {
          const bytes = vision!.patch ** 2 * grid[1] * grid[2] * 3
          const count = 2 * grid[0] - (grid[0] > 1 ? 1 : 0)
          const frames = Uint8Array.from({ length: count * bytes }, (_, i) => (i * 31 + made * 7 + (i >> 8)) & 255)
          return { kind: grid[0] > 1 ? 'video' : 'image', grid: grid as Grid, frames, hash: `${made++}` }
        })
        const rowsOf = async (some: readonly MediaPixels[]) => {
          const tensors = await model.vision!.rows(some, { gradients: false })
          const arrays = await Promise.all(tensors.map(tensor => tensor.data<'float32'>()))
          for (const tensor of tensors) tensor.dispose()
          return arrays
        }
        const together = await rowsOf(items)
        let at = 0
        for (const item of items) {
          const width = tokensOf(item.grid, vision!) * vision!.out
          expect(width).toBe((patchesOf(item.grid) / 4) * vision!.out)
          const alone = await rowsOf([{ ...item, hash: `${item.hash} alone` }])
          for (const [k, array] of alone.entries())
            expectClose(together[k]!.subarray(at, at + width), array, 1e-4, `${item.grid}`)
          at += width
        }
        expect(together[0]!.length).toBe(at)
      }),
      { numRuns: 4 },
    )
  })
})

test('patches of one pass on the CPU have the bits of the operators that a GPU composes', async () => {
  const numbers = fc.record({
    ...{
      time: fc.integer({ min: 1, max: 3 }),
      height: fc.integer({ min: 1, max: 5 }),
      width: fc.integer({ min: 1, max: 5 }),
    },
    ...{
      patch: fc.constantFrom(2, 4, 14, 16),
      temporalPatch: fc.integer({ min: 1, max: 2 }),
      merge: fc.integer({ min: 1, max: 2 }),
    },
    missing: fc.integer({ min: 0, max: 1 }),
    seed: fc.integer(),
  })
  const wide = (values: number[]) =>
    Tensor.from(
      Float32Array.from(values, v => Math.fround(v) * 255),
      { shape: [3, 1] },
    )
  const scale = { mean: wide([0.48145466, 0.4578275, 0.40821073]), std: wide([0.26862954, 0.26130258, 0.27577711]) }
  await fc.assert(
    fc.asyncProperty(numbers, async ({ time, height, width, missing, seed, ...config }) => {
      const all = time * config.temporalPatch
      const given = Math.max(1, all - missing)
      const bytes = height * width * (config.merge * config.patch) ** 2 * 3
      const frames = Uint8Array.from({ length: given * bytes }, (_, i) => (Math.imul(i + 1, 2654435761) ^ seed) >>> 24)
      const [one, composed] = scope(() => {
        const pixels = Tensor.from(frames, { shape: [given, bytes] })
        const which = Tensor.from(Int32Array.from({ length: all }, (_, i) => Math.min(i, given - 1)))
        const size = { height, width }
        return [
          unscoped(() => cutPatchesOnCpu(pixels, scale, { time, ...size }, config)),
          unscoped(() => cutPatches(pixels.indexSelect(0, which), scale, size, config).contiguous()),
        ] as const
      })
      expect(one.shape).toEqual(composed.shape)
      expect(Buffer.from((await one.data()).buffer).equals(Buffer.from((await composed.data()).buffer))).toBe(true)
      one.dispose()
      composed.dispose()
    }),
    { numRuns: 40 },
  )
  scale.mean.dispose()
  scale.std.dispose()
})
