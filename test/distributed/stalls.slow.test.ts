/** A rank that lives and does not do its part: found within the limit, named, and the others end. */
import { beforeAll, expect, test } from 'vitest'
import { DistributedModel, RankError } from '../../src/distributed/index.js'
import { tinyDirectory } from '../support/distributed.js'
import { sequences } from '../support/models.js'
import { startRanks } from '../support/ranks.js'

const limitMs = 3000
/** For the verdict, and for a busy machine. */
const slackMs = 7000
const name = 'rank 1 \\(.*, cpu, process \\d+\\)'

let directory: string
beforeAll(async () => {
  directory = await tinyDirectory('language')
})

test.each([
  ['loops for ever', 'score', `^${name} has not answered for 3 s: it is busy, and its event loop does not turn`],
  ['never answers', 'score', `^${name} [^]*model\\.score has got no further for 3 s, and uses no processor`],
  [
    'leaves out a step',
    'step',
    `^the others waited 3 s in collective \\d+ for ${name} \\(at collective \\d+\\): its order of collectives differs`,
  ],
  [
    'makes another collective',
    'step',
    `^${name} made the collective barrier where the others made \\w+: its order of collectives differs`,
  ],
] as const)('a rank that %s', { timeout: 60_000 }, async (mistake, work, message) => {
  const { world, children } = await startRanks(3, { limitMs, joinLimitMs: 60_000, mistake })
  const model = await DistributedModel.load<'language'>(world, directory, { role: 'language', dtype: 'float32' })
  const inputs = sequences([5, 9, 2, 4])
  const began = performance.now()
  const pass = async () => {
    if (work === 'score') return model.score(inputs)
    await model.forwardBackward(inputs, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -1) })),
    )
    return model.step({ lr: 1e-3 })
  }
  const error = await pass().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(RankError)
  expect((error as Error).message).toMatch(new RegExp(message))
  for (const { code, output } of await Promise.all(children.map(({ ended }) => ended))) expect(code, output).toBe(1)
  expect(performance.now() - began).toBeLessThan(limitMs + slackMs)
})
