import { expect, test } from 'vitest'
import { gridTimes, sampledFrames, timeText } from '../../src/media/index.js'
import { mediaTables } from '../support/media-tables.js'

const limits = { minFrames: 4, maxFrames: 768 }

test.each([
  ['qwen2_vl', 'even'],
  ['qwen3_vl', 'ends'],
] as const)('frames of %s are those of the table', (family, sampling) => {
  for (const [total, fps, wanted, indices] of mediaTables.frame_sampling[family]) {
    // The oracle refuses a video of one frame, and by a rounding error it gives an index after the last frame once.
    const inside = indices?.filter(index => index < total) ?? [0]
    expect(sampledFrames({ total, fps, wanted, ...limits }, sampling), `${total} at ${fps}`).toEqual(inside)
  }
})

test('videos shorter than the smallest count', () => {
  const of = (total: number) => ({ total, fps: 30, wanted: 2, ...limits })
  expect(sampledFrames(of(1), 'even')).toEqual([0])
  expect(sampledFrames(of(1), 'ends')).toEqual([0])
  expect(sampledFrames(of(3), 'even')).toEqual([0, 1])
  expect(sampledFrames(of(3), 'ends')).toEqual([0, 1, 2])
})

test('times of frames are those of the table', () => {
  for (const [indices, fps, texts] of mediaTables.timestamps.rows)
    expect(gridTimes(indices, { fps, temporalPatchSize: 2 }).map(timeText)).toEqual(texts)
  for (const [seconds, text] of mediaTables.timestamps.one_decimal) expect(timeText(seconds)).toBe(text)
})
