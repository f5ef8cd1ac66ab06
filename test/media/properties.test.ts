/** Whatever images come, in whatever sizes: tokens and patches belong together, and so do patches and pixels. */
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandPlaceholders, MediaProcessor, mediaPositions, readMediaConfig } from '../../src/media/index.js'
import { positionRules, tableTokens } from '../support/media-tables.js'

const families = ['qwen2_vl', 'qwen2_5_vl', 'qwen3_vl'] as const

test('tokens are patches divided by the area of a merge, over random counts and sizes of images', async () => {
  const folder = (family: string) => fileURLToPath(new URL(`../fixtures/media/${family}`, import.meta.url))
  const configs = await Promise.all(families.map(family => readMediaConfig(folder(family), family)))
  const side = fc.integer({ min: 1, max: 150 })
  const size = fc.tuple(side, side).filter(([a, b]) => Math.max(a, b) / Math.min(a, b) <= 200)
  const bounds = fc.record({ minPixels: fc.integer({ min: 1, max: 9000 }), room: fc.integer({ min: 0, max: 30_000 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(size, fc.constantFrom(1, 3, 4)), { maxLength: 5 }),
      fc.nat(families.length - 1),
      bounds,
      async (sizes, which, { minPixels, room }) => {
        const config = configs[which]!
        const rules = { ...tableTokens, ...positionRules(families[which]!), encode: async () => [] }
        const media = new MediaProcessor({ config, imagePixels: { minPixels, maxPixels: minPixels + room } })
        const given = sizes.map(([[width, height], channels], i) => ({
          ...{ width, height },
          data: new Uint8Array(width * height * channels).map((_, at) => (at * 7 + i * 31) % 256),
        }))
        const outcome = await media.prepare({ images: given })
        if (outcome.kind !== 'media') throw outcome.error
        const { images, videos } = outcome
        expect(images.length).toBe(given.length)
        for (const { grid, frames } of images) expect(frames.length).toBe(grid[1] * grid[2] * config.patchSize ** 2 * 3)

        const ids = images.flatMap(() => [9, 3, 5, 4])
        const found = await expandPlaceholders({ ids, images, videos }, rules)
        const tokens = images.map(({ grid: [t, h, w] }) => (t * h * w) / config.mergeSize ** 2)
        expect(tokens.every(count => Number.isInteger(count) && count > 0)).toBe(true)
        expect(found.media.map(({ runs }) => runs.map(({ count }) => count))).toEqual(tokens.map(count => [count]))
        const total = tokens.reduce((sum, count) => sum + count, 0)
        expect(found.ids.filter(id => id === 5).length).toBe(total)
        expect(found.ids.length).toBe(3 * images.length + total)

        // Text goes on after the largest position of what is before it, so that no position comes twice.
        const { time, height, width, delta } = mediaPositions({ length: found.ids.length, media: found.media }, rules)
        const largest = [...time, ...height, ...width].reduce((most, one) => Math.max(most, one), -1)
        expect(found.ids.length + delta).toBe(largest + 1)
        const places = found.ids.map((_, i) => i)
        expect(new Set(Array.from(places, i => `${time[i]} ${height[i]} ${width[i]}`)).size).toBe(found.ids.length)
      },
    ),
    { numRuns: 60 },
  )
})
