/** What a resumed run believes of an iteration's journal. */
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/rollout/index.js'
import { Journal } from '../../../src/run/index.js'
import { IterationJournal } from '../../../src/train/rl/iteration-journal.js'
import { fresh } from '../../support/files.js'

const failed = (sample: number): Outcome => ({
  kind: 'failed',
  requestId: 'r',
  promptId: 'a',
  sample,
  seed: 1,
  reason: 'timeout',
  message: 'no answer',
})
const scored = (sample: number, reward: number) => ({
  promptId: 'a',
  sample,
  outcome: { kind: 'scored' as const, reward, components: {}, metrics: {} },
})

test('a reward whose sample is not there is no one else’s: the sample that is made again earns its own', async () => {
  const journal = new Journal(fresh('journal'))
  // As a disk without space leaves it: the sample did not fit, its reward, which is shorter, did.
  await journal.append(0, { kind: 'rewards', rewards: [scored(0, 0.5)] })
  const resumed = await IterationJournal.open(journal, 0)
  expect(resumed.reward({ promptId: 'a', sample: 0 })).toBeUndefined()
  await resumed.keepOutcome(failed(0))
  expect((await IterationJournal.open(journal, 0)).reward({ promptId: 'a', sample: 0 })).toBeUndefined()
  await resumed.keepRewards([scored(0, 0.25)])
  expect((await IterationJournal.open(journal, 0)).reward({ promptId: 'a', sample: 0 })).toMatchObject({ reward: 0.25 })
  await journal.close()
})

test('updates after the checkpoint did not happen, also those that moved no weight', async () => {
  const journal = new Journal(fresh('journal'))
  const first = await IterationJournal.open(journal, 0)
  const policy = { model: 'policy', places: [0, 1] } as const
  await first.keepUpdate({ ...policy, epoch: 0, step: 1, outcome: 'done' })
  await first.keepUpdate({ ...policy, epoch: 1, step: 1, outcome: 'stopped' })
  // Its checkpoint was saved between the two.
  const resumed = await IterationJournal.open(journal, 0)
  await resumed.keepResumed({ updates: 1 })
  await resumed.keepUpdate({ ...policy, epoch: 1, step: 1, outcome: 'stopped' })
  const { updates } = await IterationJournal.open(journal, 0)
  expect(updates.map(({ epoch, outcome }) => `${epoch} ${outcome}`)).toEqual(['0 done', '1 stopped'])
  await journal.close()
})
