import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expandPlaceholders, gridTimes, type PlaceholderRules, type VisionFamily } from '../../src/media/index.js'
import { gridOnly, mediaTables, positionRules, tableTokens } from '../support/media-tables.js'
import { tokenizer } from '../support/tokenizers.js'

const rulesOf = (family: VisionFamily): PlaceholderRules => ({
  ...tableTokens,
  ...positionRules(family),
  encode: text => tokenizer.encode(text, { addSpecialTokens: false }),
})

describe.each(mediaTables.expansion.map((one, index) => ({ ...one, index })))('text $index of $family', one => {
  const rules = rulesOf(one.family)
  const images = one.image_grid_thw.map(grid => gridOnly('image', grid))
  const videos = one.video_grid_thw.map((grid, i) => ({
    ...gridOnly('video', grid, 2 / one.video_fps),
    times: gridTimes(one.frames_indices[i]!, { fps: one.video_fps, temporalPatchSize: 2 }),
  }))
  const pads = (ids: ArrayLike<number>) => Array.from(ids).filter(id => id === 5 || id === 6).length

  test('one placeholder for each item becomes all of them', async () => {
    const found = await expandPlaceholders({ ids: await tokenizer.encode(one.text), images, videos }, rules)
    expect([...found.ids]).toEqual(one.ids)
    expect(found.media.map(({ pixels }) => pixels).sort()).toEqual([...images, ...videos].sort())
    const covered = found.media.flatMap(({ runs }) => runs).reduce((sum, { count }) => sum + count, 0)
    expect(covered).toBe(pads(one.ids))
    expect(found.from.length).toBe(found.ids.length)
    const before = await tokenizer.encode(one.text)
    expect([...new Set(found.from)].length).toBe(before.length)
    for (const { pixels, runs } of found.media)
      for (const { start, count } of runs)
        expect([...found.ids.subarray(start, start + count)]).toEqual(
          new Array(count).fill(pixels.kind === 'image' ? tableTokens.imageId : tableTokens.videoId),
        )
  })

  test('expanded ids stay as they are, in both spellings', async () => {
    for (const ids of [one.ids, one.ids_transformers_4_57]) {
      const found = await expandPlaceholders({ ids, images, videos }, rules)
      expect([...found.ids]).toEqual(ids)
      expect(found.media.flatMap(({ runs }) => runs).reduce((sum, { count }) => sum + count, 0)).toBe(pads(ids))
    }
  })
})

describe('counts that do not agree', () => {
  const rules = rulesOf('qwen2_5_vl')
  const images = [gridOnly('image', [1, 4, 4]), gridOnly('image', [1, 4, 8])]
  const expand = (ids: number[], given = images) => expandPlaceholders({ ids, images: given, videos: [] }, rules)

  test.each([
    ['too few', [9, 5, 9], 'expected 2 (one for each), or runs of 4, 8, got runs of 1'],
    ['too many', [5, 9, 5, 9, 5], 'got runs of 1, 1, 1'],
    ['one run too short', [5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5, 5], 'got runs of 4, 7'],
    ['one expanded, one not', [5, 5, 5, 5, 9, 5], 'got runs of 4, 1'],
    ['the other kind', [6, 9, 6], 'video placeholders: expected none, got runs of 1, 1'],
    ['none', [9], 'got none'],
  ])('%s', async (_, ids, message) => {
    await expect(expand(ids)).rejects.toThrow(message)
  })

  test('placeholders without media', async () => {
    await expect(expand([5], [])).rejects.toThrow('image placeholders: expected none, got runs of 1')
    expect([...(await expand([1, 2], [])).ids]).toEqual([1, 2])
  })

  test('placeholders side by side are one for each item', async () => {
    expect((await expand([5, 5])).media.map(({ runs }) => runs)).toEqual([
      [{ start: 0, count: 4 }],
      [{ start: 4, count: 8 }],
    ])
  })
})

test('a video of one token is expanded until its time is before it', async () => {
  const rules = rulesOf('qwen3_vl')
  const videos = [{ ...gridOnly('video', [1, 2, 2]), times: [0.25] }]
  const once = await expandPlaceholders({ ids: [3, 6, 4], images: [], videos }, rules)
  expect([...once.ids]).toEqual([3, ...Array.from(await rules.encode('<0.2 seconds>')), 3, 6, 4, 4])
  expect([...(await expandPlaceholders({ ids: once.ids, images: [], videos }, rules)).ids]).toEqual([...once.ids])
  const timeless = [gridOnly('video', [1, 2, 2])]
  const seconds = rulesOf('qwen2_5_vl')
  await expect(expandPlaceholders({ ids: [6], images: [], videos: timeless }, seconds)).rejects.toThrow('give its fps')
  await expect(expandPlaceholders({ ids: [3, 6, 4], images: [], videos: timeless }, rules)).rejects.toThrow(
    'give its fps',
  )
})

test('tokens are patches divided by the area of a merge, over random layouts', async () => {
  const side = fc.integer({ min: 1, max: 6 }).map(n => 2 * n)
  const image = fc.tuple(fc.constant('image' as const), fc.constant(1), side, side)
  const video = fc.tuple(fc.constant('video' as const), fc.integer({ min: 1, max: 4 }), side, side)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(image, video), { maxLength: 6 }),
      fc.constantFrom<VisionFamily>('qwen2_vl', 'qwen2_5_vl', 'qwen3_vl'),
      async (items, family) => {
        const rules = rulesOf(family)
        const media = items.map(([kind, ...grid]) => ({
          ...gridOnly(kind, grid, 1),
          times: Array.from({ length: grid[0] }, (_, i) => i),
        }))
        const ids = media.flatMap(({ kind }) => [10, 3, kind === 'image' ? 5 : 6, 4, 11])
        const [images, videos] = [media.filter(m => m.kind === 'image'), media.filter(m => m.kind === 'video')]
        const found = await expandPlaceholders({ ids, images, videos }, rules)
        expect(found.media.map(({ pixels }) => pixels)).toEqual(media)
        for (const { pixels, runs } of found.media) {
          const [t, h, w] = pixels.grid
          expect(runs.reduce((sum, { count }) => sum + count, 0)).toBe((t * h * w) / 4)
        }
        const again = await expandPlaceholders({ ids: found.ids, images, videos }, rules)
        expect(again).toEqual({ ...found, from: found.ids.map((_, at) => at) })
      },
    ),
  )
})
