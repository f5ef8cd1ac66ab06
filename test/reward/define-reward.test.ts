import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineReward, loadRewards, RewardComputationEngine, type RewardInput } from '../../src/reward/index.js'
import { written } from '../support/files.js'
import { sample } from '../support/reward-samples.js'

const schema = z.object({ answer: z.string(), level: z.number().optional() })

it('a reward sees the columns of its schema, and compiles with no others', async () => {
  const reward = defineReward(
    schema,
    ({ row, response }) => {
      expectTypeOf(row.answer).toEqualTypeOf<string>()
      expectTypeOf(row.level).toEqualTypeOf<number | undefined>()
      // @ts-expect-error: there is no such column
      expect(row.anser).toBeUndefined()
      return response === row.answer ? 1 : 0
    },
    { name: 'right' },
  )
  // @ts-expect-error: a column that is no number is no reward
  defineReward(schema, ({ row }) => row.answer)
  // @ts-expect-error: a column that may be missing is no reward either
  defineReward(schema, ({ row }) => row.level)
  expectTypeOf<RewardInput<z.infer<typeof schema>>['row']>().toEqualTypeOf<{
    answer: string
    level?: number | undefined
  }>()

  const engine = new RewardComputationEngine({ sources: [reward] })
  const row = { answer: '4', further: 'columns' }
  const { outcomes } = await engine.compute([sample('4', { row }), sample('5', { row })])
  expect(outcomes).toMatchObject([{ reward: 1 }, { reward: 0 }])
})

it('a row that does not fit is a failure that names the column, not a reward of 0', async () => {
  const reward = defineReward(schema, () => 1, { name: 'right' })
  const { outcomes } = await new RewardComputationEngine({ sources: [reward], onRewardFailure: 'retry' }).compute([
    sample('4', { row: { anser: '4' } }),
    sample('4', { row: { answer: 4, level: 'x' } }),
  ])
  expect(outcomes).toMatchObject([
    {
      kind: 'failed',
      reason: 'input',
      source: 'right',
      message: expect.stringMatching(/^row\.answer: .*expected string.*schema/),
    },
    { kind: 'failed', reason: 'input', message: expect.stringMatching(/\(and 1 more\)/) },
  ])
})

it('every sample gets a row of its own, as the schema makes it', async () => {
  let parsed = 0
  const counted = z.object({ n: z.string() }).transform(({ n }) => {
    parsed++
    return { n: Number(n) }
  })
  const reward = defineReward(counted, ({ row }) => row.n, { name: 'n' })
  const row = { n: '3' }
  const engine = new RewardComputationEngine({ sources: [reward] })
  const { outcomes } = await engine.compute([sample('a', { row }), sample('b', { row })])
  expect(outcomes).toMatchObject([{ reward: 3 }, { reward: 3 }])
  expect(parsed).toBe(2)
})

it('a row that does not fit is known before generation, also where the reward runs in its own process', async () => {
  const right = defineReward(schema, () => 1, { name: 'right' })
  const file = written(
    'right.mjs',
    `import { defineReward } from 'whetstone/reward'
import { z } from 'zod'
export default defineReward(z.object({ answer: z.string(), level: z.number().default(1) }), () => 1, { name: 'right' })
`,
  )
  for (const engine of [new RewardComputationEngine({ sources: [right] }), await loadRewards(file)]) {
    try {
      expect(engine.rowProblem({ row: { answer: '4' } })).toBe(undefined)
      expect(engine.rowProblem({ row: { anser: '4' } })).toMatch(
        /^reward "right": row\.answer: .*schema given to defineReward/,
      )
    } finally {
      await engine.close()
    }
  }
  const asynchronous = defineReward(
    schema.refine(async () => false),
    () => 1,
    { name: 'asynchronous' },
  )
  expect(new RewardComputationEngine({ sources: [asynchronous] }).rowProblem({ row: { answer: '4' } })).toBe(undefined)
})
