/** Samples of weights older than may be trained on. */
import { expect, test } from 'vitest'
import { type Collected, type ScoredSample, withoutStale } from '../../src/experience/collected.js'

const scored = (group: string, sample: number, policyVersion: number): ScoredSample =>
  ({ prompt: { sequence: { promptId: group } }, sample: { sample, policyVersion } }) as unknown as ScoredSample

const collected: Collected = {
  groups: [
    [scored('old', 0, 4), scored('old', 1, 9)],
    [scored('new', 0, 8), scored('new', 1, 9)],
  ],
  dropped: [],
  rounds: 1,
  promptCounts: { cut: 0, leftOut: 0 },
  missingGroups: 0,
  seconds: { encoding: 0, generation: 1, reward: 0 },
  rewardOverlap: 0,
}

test('a group of which one sample is too old is dropped whole, and each of its samples counted', () => {
  const { groups, dropped, missingGroups } = withoutStale(collected, 8)
  expect(groups).toEqual([collected.groups[1]])
  expect(missingGroups).toBe(1)
  expect(dropped.map(({ promptId, sample, stage, reason }) => `${promptId}/${sample} ${stage} ${reason}`)).toEqual([
    'old/0 generation stale',
    'old/1 generation stale',
  ])
  expect(dropped[0]!.message).toContain('version 4')
})

test('without a bound, or with all young enough, nothing changes', () => {
  expect(withoutStale(collected, undefined)).toBe(collected)
  expect(withoutStale(collected, 4)).toBe(collected)
})
