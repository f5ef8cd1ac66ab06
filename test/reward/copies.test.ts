/** What a reward function does to its input changes nothing that is trained on, and nothing that another reward sees. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import {
  batchReward,
  defineReward,
  RewardComputationEngine,
  type RewardInput,
  type RewardSource,
  sampleReward,
} from '../../src/reward/index.js'
import { answered } from '../support/answered.js'
import { sample } from '../support/reward-samples.js'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

function spoil(input: RewardInput): number {
  const own = input as Writable<RewardInput<{ tags: string[] }>>
  own.sequence.ids.fill(3)
  own.row.tags.push('spoilt')
  own.response = ''
  ;(own.messages as unknown as { content: string }[])[0]!.content = 'spoilt'
  return 0
}

const input = (): RewardInput =>
  sample('four', {
    sequence: answered(Int32Array.of(1, 2), Int32Array.of(4, 5)),
    row: { tags: ['a'], self: undefined },
    messages: [{ role: 'user', content: 'Hi' }],
  })

const seen = (one: RewardInput): number => {
  expect(one).toEqual(input())
  return 1
}
const source = (name: string, score: (one: RewardInput) => number): RewardSource => ({
  name,
  kind: 'function',
  limits: { batchSize: 1, concurrency: 1, deadlineMs: 1_000, retries: 0 },
  score: async inputs => inputs.map(score),
})

it.each<[string, RewardSource]>([
  ['of one sample', sampleReward(spoil, { name: 'spoils' })],
  ['of many', batchReward(inputs => inputs.map(spoil), { name: 'spoils' })],
  ['over rows', defineReward(z.object({ tags: z.array(z.string()) }), spoil as never, { name: 'spoils' })],
  ["a source of one's own", source('spoils', spoil)],
])('a function %s gets copies', async (_, spoils) => {
  const engine = new RewardComputationEngine({
    sources: [spoils, source('sees', seen)],
    weights: { spoils: 1, sees: 1 },
  })
  const given = input()
  const { outcomes } = await engine.compute([given, given])
  expect(outcomes).toMatchObject([{ reward: 1 }, { reward: 1 }])
  expect(given).toEqual(input())
})

it('an aggregator gets copies', async () => {
  const given = input()
  const engine = new RewardComputationEngine({
    rewardFn: (_, __, ___, ____, _____, inputs) => ({ rewards: inputs.map(one => spoil(one) + 2) }),
  })
  expect((await engine.compute([given])).outcomes).toMatchObject([{ reward: 2 }])
  expect(given).toEqual(input())
})

it('rows may refer to themselves and hold instances', async () => {
  class Level {
    constructor(readonly value: number) {}
    double = (): number => 2 * this.value
  }
  const row: Record<string, unknown> = { level: new Level(4) }
  row.self = row
  const engine = new RewardComputationEngine({
    sources: [sampleReward(({ row: own }) => ((own.self as typeof own).level as Level).double(), { name: 'level' })],
  })
  expect((await engine.compute([sample('x', { row })])).outcomes).toMatchObject([{ reward: 8 }])
})
