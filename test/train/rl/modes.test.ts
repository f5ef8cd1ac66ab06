/** What each mode asks of the models: every score call is counted, and none is made that the maths does not need. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LocalModel, type Role } from '../../../src/model/index.js'
import { fresh } from '../../support/files.js'
import { metricLines, smallRun, start } from '../../support/rl.js'

const base = await smallRun({ seed: 4, prompts: 4 }, { iterations: 2 })
const none = { kind: 'fixed', coef: 0 }

const calls: string[] = []
beforeEach(() => {
  calls.length = 0
  const models = new Map<LocalModel, string>()
  const { score, forwardBackward } = LocalModel.prototype
  const name = (one: LocalModel): string => models.get(one) ?? `${one.role}`
  vi.spyOn(LocalModel.prototype, 'forwardBackward').mockImplementation(function (this: LocalModel, ...args) {
    models.set(this, this.role === 'value' ? 'critic' : 'actor')
    return forwardBackward.apply(this, args as never)
  })
  vi.spyOn(LocalModel.prototype, 'score').mockImplementation(function (this: LocalModel<Role>, sequences, options) {
    calls.push(`${name(this)}${options?.adapter === 'off' ? ' without adapter' : ''}`)
    return score.call(this, sequences, options) as never
  })
})
afterEach(() => vi.restoreAllMocks())

/** Calls of the second iteration: by then it is known who is trained. */
async function scored(options: Readonly<Record<string, unknown>>): Promise<string[]> {
  const output = fresh('run')
  await start({ ...base, ...options, output })
  expect(calls.length % 2, 'both iterations ask the same').toBe(0)
  const half = calls.length / 2
  return calls.slice(half).sort()
}

test.each([
  ['one step, KL as a loss: the step has the old log-probs', { algorithm: 'grpo' }, ['language']],
  ['one step, no KL', { algorithm: 'grpo', klController: none }, []],
  ['several steps', { algorithm: 'grpo', trainBatchSize: 4 }, ['actor', 'language']],
  ['several passes', { algorithm: 'grpo', updateEpochs: 2 }, ['actor', 'language']],
  ['KL in the rewards', { algorithm: 'rloo' }, ['actor', 'language']],
  ['importance weights', { algorithm: 'grpo', klController: none, tisCap: 2 }, ['actor']],
  ['an adapter is its own reference', { algorithm: 'rloo', lora: { rank: 2 } }, ['actor', 'actor without adapter']],
  ['dropout of an adapter', { algorithm: 'grpo', klController: none, lora: { rank: 2, dropout: 0.1 } }, ['actor']],
  ['a critic', { algorithm: 'ppo', nSamplesPerPrompt: 1, updateEpochs: 1 }, ['actor', 'critic', 'language']],
] as const)('%s', async (_, options, expected) => {
  expect(await scored(options)).toEqual([...expected])
})

test('where the rollout is not scored, the metrics are measured all the same', async () => {
  const runs = await Promise.all(
    [{}, { tisCap: 1e9 }].map(async options => {
      const output = fresh('run')
      await start({ ...base, algorithm: 'grpo', ...options, output })
      return metricLines(output)
    }),
  )
  const [skipped, scored] = runs as [Awaited<ReturnType<typeof metricLines>>, Awaited<ReturnType<typeof metricLines>>]
  for (const name of ['reward/mean', 'kl/mean', 'entropy/mean', 'gap/mean', 'policy/loss', 'grad/norm'])
    for (const [i, { values }] of skipped.entries())
      expect(values[name], `${name} of iteration ${i}`).toBeCloseTo(scored[i]!.values[name]!, 4)
})
