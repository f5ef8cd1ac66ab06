/** The other forms of a reward file: each takes a process of its own. */
import { describe, expect, it } from 'vitest'
import { loadRewards } from '../../src/reward/index.js'
import { written } from '../support/files.js'
import { rewardsOf, sample } from '../support/reward-samples.js'

describe('modules', () => {
  const inputs = [
    sample('four', { label: 'x', row: { answer: 'four' } }),
    sample('5', { label: 'x', row: { answer: '4' } }),
  ]
  it.each<[string, string, string, unknown[]]>([
    ['an async function in JavaScript', 'a.mjs', 'export default async input => input.response.length', [4, 1]],
    [
      'defineReward of the package itself',
      'a.ts',
      `import { defineReward } from 'whetstone'
       import { z } from 'zod'
       export default defineReward(z.object({ answer: z.string() }), ({ row, response }) => row.answer.length * response.length)`,
      [16, 1],
    ],
    ["LightRFT's function", 'a.js', 'export const customRewardFunc = queries => queries.map(q => q.length)', [7, 4]],
    [
      "LightRFT's aggregator",
      'a.js',
      'export const rewardFn = (s, labels, q) => ({ rewards: q.map(() => 3) })',
      [3, 3],
    ],
    [
      'options',
      'a.ts',
      `import { length, format } from 'whetstone/reward'
       export default { sources: [length({ unit: 'characters', max: 2 }), format()], weights: { length: 2, format: 1 } }`,
      [0, 2],
    ],
    [
      'named options',
      'a.ts',
      `import { pattern } from 'whetstone/reward'
       export const sources = [pattern({ name: 'digits', pattern: '^\\\\d+$' })]
       export const rewardRecipe = { x: [['rule', 'digits', 0.5]] }`,
      [0, 0.5],
    ],
    [
      'an engine',
      'a.ts',
      `import { RewardComputationEngine, sampleReward } from 'whetstone/reward'
       export default new RewardComputationEngine({ sources: [sampleReward(() => 1, { name: 'one' })] })`,
      [1, 1],
    ],
  ])('with %s', async (_, name, source, wanted) => {
    expect(await rewardsOf(written(name, source), inputs)).toEqual(wanted)
  })

  it.each<[string, string, string, RegExp]>([
    ['a number', 'a.ts', 'export default 1', /its default export is not a reward/],
    ['a mistake', 'a.ts', 'export default (', /a\.ts: Unexpected token \(\d+-a\.ts:1\)/],
    ['options that cannot work', 'a.ts', 'export const weights = { a: 1 }', /no reward source "a"|no reward: give/],
  ])('with %s are refused', async (_, name, source, message) => {
    await expect(loadRewards(written(name, source))).rejects.toThrow(message)
  })
})
