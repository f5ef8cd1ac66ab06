import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { imageSize, type Size, videoSize } from '../../src/media/index.js'
import { mediaTables } from '../support/media-tables.js'

/** Sides, or undefined where the size is refused. */
function sides(size: () => Size): number[] | undefined {
  try {
    const { height, width } = size()
    return [height, width]
  } catch (error) {
    expect(error).toMatchObject({ reason: 'shape' })
    return undefined
  }
}

const wanted = (...row: (number | null | undefined)[]) => (row.includes(null) ? undefined : row)

test('target sizes of images are those of the table', () => {
  for (const row of mediaTables.smart_resize.rows) {
    const [height, width, factor, minPixels, maxPixels, ...out] = row as [number, number, number, number, number]
    const found = sides(() => imageSize({ height, width }, { factor, minPixels, maxPixels }))
    expect(found, row.join()).toEqual(wanted(...out))
  }
})

test('target sizes of Qwen3-VL videos are those of the table', () => {
  for (const row of mediaTables.smart_resize_qwen3_video.rows) {
    const [frames, height, width, temporalPatchSize, factor, minPixels, maxPixels, ...out] = row as number[]
    const bounds = { factor: factor!, minPixels: minPixels!, maxPixels: maxPixels! }
    const length = { frames: frames!, temporalPatchSize: temporalPatchSize! }
    const found = sides(() => videoSize({ height: height!, width: width! }, { ...bounds, ...length }))
    expect(found, row.join()).toEqual(wanted(...out))
  }
})

describe('sizes', () => {
  const bounds = { factor: 28, minPixels: 3136, maxPixels: 1_003_520 }

  test('halves go to the even multiple', () => {
    expect(imageSize({ height: 70, width: 280 }, bounds)).toEqual({ height: 56, width: 280 })
    expect(imageSize({ height: 98, width: 280 }, bounds)).toEqual({ height: 112, width: 280 })
  })

  test('a released maximum', () => {
    const released = { factor: 28, minPixels: 3136, maxPixels: 12_845_056 }
    expect(imageSize({ height: 720, width: 1280 }, released)).toEqual({ height: 728, width: 1288 })
    expect(imageSize({ height: 1080, width: 1920 }, released)).toEqual({ height: 1092, width: 1932 })
  })

  test('absurd shapes are refused with a reason', () => {
    const refused = (height: number, width: number) => {
      try {
        return imageSize({ height, width }, bounds)
      } catch (error) {
        return error
      }
    }
    expect(refused(1, 201)).toMatchObject({ reason: 'shape', message: expect.stringContaining('201 x 1 pixels') })
    expect(refused(1, 200)).toEqual({ height: 28, width: 812 })
    expect(refused(0, 10)).toMatchObject({ reason: 'empty' })
    expect(() => videoSize({ height: 9, width: 9 }, { ...bounds, frames: 1, temporalPatchSize: 2 })).toThrow('2 frames')
  })

  test('sides are multiples of the factor, and the area is within bounds', () => {
    const side = fc.integer({ min: 1, max: 4000 })
    fc.assert(
      fc.property(side, side, (height, width) => {
        fc.pre(Math.max(height, width) / Math.min(height, width) <= 200)
        const found = imageSize({ height, width }, bounds)
        expect(found.height % 28).toBe(0)
        expect(found.width % 28).toBe(0)
        expect(found.height * found.width).toBeGreaterThanOrEqual(bounds.minPixels)
        // A long thin picture keeps one factor on its short side.
        const thin = Math.min(found.height, found.width) === 28
        expect(found.height * found.width).toBeLessThanOrEqual(thin ? 28 * 4032 : bounds.maxPixels)
      }),
    )
  })
})
