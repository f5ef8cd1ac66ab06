import { expect, test } from 'vitest'
import { mediaPositions } from '../../src/media/index.js'
import type { MediaItem } from '../../src/sequence/index.js'
import { gridOnly, mediaTables, positionRules, tableTokens } from '../support/media-tables.js'

/** Runs of placeholder tokens, in order. */
function runsOf(ids: readonly number[]): MediaItem['runs'][number][] {
  const isPad = (id: number | undefined) => id === tableTokens.imageId || id === tableTokens.videoId
  const starts = ids.flatMap((id, at) => (isPad(id) && !isPad(ids[at - 1]) ? [at] : []))
  return starts.map(start => {
    const end = ids.findIndex((id, at) => at > start && !isPad(id))
    return { start, count: (end === -1 ? ids.length : end) - start }
  })
}

test.each(mediaTables.positions.map((layout, index) => ({ ...layout, index })))(
  'layout $index of $family',
  ({ family, tokens_per_second, ids, media, position_ids, rope_delta }) => {
    const runs = runsOf(ids)
    const items = media.map(({ kind, grid_thw, seconds_per_grid }) => ({
      pixels: gridOnly(kind, grid_thw, seconds_per_grid),
      runs: runs.splice(0, kind === 'video' && family === 'qwen3_vl' ? grid_thw[0] : 1),
    }))
    const found = mediaPositions({ length: ids.length, media: items }, positionRules(family, tokens_per_second))
    expect([found.time, found.height, found.width].map(row => [...row])).toEqual(position_ids)
    expect(found.delta).toBe(rope_delta)
  },
)

const rules = positionRules('qwen2_5_vl')
const image: MediaItem = { pixels: gridOnly('image', [1, 4, 4]), runs: [{ start: 1, count: 4 }] }

test('the position after a long video is above all of its times', () => {
  const pixels = gridOnly('video', [3, 2, 2], 4)
  const found = mediaPositions({ length: 5, media: [{ pixels, runs: [{ start: 1, count: 3 }] }] }, rules)
  expect([...found.time]).toEqual([0, 1, 9, 17, 18])
  expect([...found.height]).toEqual([0, 1, 1, 1, 18])
  expect(found.delta).toBe(14)
})

test('runs that do not fit their grids or the sequence are refused', () => {
  const at = (item: MediaItem, length = 6) => mediaPositions({ length, media: [item] }, rules)
  expect(() => at({ ...image, runs: [{ start: 1, count: 3 }] })).toThrow(
    'an image with grid 1 x 4 x 4 has runs of 3 tokens; expected 4',
  )
  expect(() => at(image, 4)).toThrow('ends after 4')
  expect(() => mediaPositions({ length: 9, media: [image, image] }, rules)).toThrow('overlaps another')
  const video: MediaItem = { pixels: gridOnly('video', [1, 4, 4]), runs: image.runs }
  expect(() => at(video)).toThrow('has no secondsPerGrid')
})
