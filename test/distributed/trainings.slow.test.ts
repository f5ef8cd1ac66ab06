/** Whole trainings: two ranks come to the same as one process, and to the same bits again. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ranks } from '../../src/distributed/index.js'
import type { Role } from '../../src/model/index.js'
import { type Training, type TrainingName, trainings } from '../../src/train/index.js'
import { answerPairs } from '../support/answers.js'
import { expectClose } from '../support/close.js'
import { journalOf, samplesOf, weightsOfDirectory } from '../support/distributed.js'
import { fresh, jsonl } from '../support/files.js'
import { letterReward, metricLines, promptFile, stoppedAt } from '../support/rl.js'
import { modelDirectory, rewardModelDirectory } from '../support/tiny-model.js'

let ranks: Ranks
let model: string
beforeAll(async () => {
  ranks = await Ranks.of({ device: 'cpu', devices: 2 })
  model = await modelDirectory(1, { context: 96 })
})
afterAll(() => ranks.close())

const pairs = jsonl([
  ...answerPairs(9, 1),
  // One much longer than the others, and a last batch with fewer rows than ranks.
  { prompt: 'Count.', chosen: 'one two three '.repeat(12), rejected: 'no' },
])
const conversations = jsonl(
  answerPairs(10, 1).map(({ prompt, chosen }, i) => ({ prompt, completion: i === 3 ? 'word '.repeat(30) : chosen })),
)
const optimizer = { lr: 1e-3, eps: 1e-3, schedule: 'cosine' }
const rows = { epochs: 5, batchSize: 3, saveSteps: 1000, device: 'cpu', chatTemplate: 'none', maxLength: 90 }
const rl = {
  ...{ chatTemplate: 'none', iterations: 5, rolloutBatchSize: 2, nSamplesPerPrompt: 4, maxNewTokens: 8, device: 'cpu' },
  ...{ updateEpochs: 2, trainBatchSize: 4, saveSteps: 1000, rewards: letterReward, data: promptFile(6) },
  optimizer: { lr: 1e-3, eps: 1e-3 },
}

interface RunOptions {
  readonly ranks?: Ranks
  readonly resume?: boolean
  readonly stopAt?: string
}

async function train(name: TrainingName, output: string, options: object, rest: RunOptions = {}) {
  const { ranks: given, resume = false, stopAt } = rest
  const training: Training = trainings[name]
  const resolved = training.resolve([{ origin: 'test', values: { model, ...options, output } }])
  const job = { ...resolved, resume, allowChange: [], ...stoppedAt(stopAt), ...(given && { ranks: given }) }
  return training.run(job)
}

const measured = (run: string) =>
  metricLines(run).map(({ step, values }) => ({
    step,
    values: Object.entries(values).filter(([name]) => !/^(speed|time|memory|seconds|samples\/reused)/.test(name)),
  }))

const bits = (run: string, name = 'final_model'): string =>
  createHash('sha256')
    .update(readFileSync(join(run, name, 'model.safetensors')))
    .digest('hex')

async function expectSame(one: string, two: string, models: Readonly<Record<string, Role>>): Promise<void> {
  for (const [name, role] of Object.entries(models)) {
    const expected = await weightsOfDirectory(join(one, name), role)
    const start = await weightsOfDirectory(model, role === 'language' ? role : 'language')
    let moved = 0
    for (const [weight, numbers] of await weightsOfDirectory(join(two, name), role)) {
      expectClose(numbers, expected.get(weight)!, 1e-5, `${name} ${weight}`)
      moved = Math.max(moved, ...numbers.map((value, i) => Math.abs(value - (start.get(weight)?.[i] ?? value))))
    }
    expect(moved).toBeGreaterThan(1e-3)
  }
  const [expected, found] = [measured(one), measured(two)]
  expect(found.length).toBe(expected.length)
  for (const [i, { step, values }] of found.entries()) {
    expect(step).toBe(expected[i]!.step)
    expect(values.map(([name]) => name)).toEqual(expected[i]!.values.map(([name]) => name))
    for (const [k, [name, value]] of values.entries()) {
      // Before the first step all margins are zero but for rounding.
      if (name === 'preference/accuracy' && step === 1) continue
      const [, other] = expected[i]!.values[k]!
      expectClose([value], [other], 1e-5 + 2e-4 * Math.abs(other), `${name} of step ${step}`)
    }
  }
}

const supervised = [
  ['sft', 'language', { ...rows, data: conversations, optimizer, gradientCheckpointing: true, tokenBudget: 64 }],
  ['reward', 'reward', { ...rows, data: pairs, optimizer: { ...optimizer, shard: true } }],
  ['preference', 'language', { ...rows, data: pairs, optimizer, lora: { rank: 4, alpha: 8, dropout: 0.2 } }],
] as const
test.each(supervised)(
  '%s: two ranks train as one process does, and to the same bits again',
  async (name, role, options) => {
    const [one, two, again] = [fresh('one'), fresh('two'), fresh('again')]
    const result = await train(name, one, options)
    expect(result).toMatchObject({ outcome: 'finished', step: 20 })
    expect(await train(name, two, options, { ranks })).toMatchObject({ outcome: 'finished', step: 20 })
    await expectSame(one, two, { final_model: role })
    const journal = (run: string) => journalOf(run).map(line => JSON.stringify(line).replace(/"loss[^,}]*/g, ''))
    expect(journal(two)).toEqual(journal(one))
    await train(name, again, options, { ranks })
    expect(bits(again)).toBe(bits(two))
  },
)

test('four ranks, more than a batch has rows, train as one process does: rows, and samples', async () => {
  const four = await Ranks.of({ device: 'cpu', devices: 4 })
  try {
    const sft = { ...rows, data: conversations, optimizer: { ...optimizer, shard: true } }
    const grpo = { ...rl, algorithm: 'grpo', optimizer: { ...rl.optimizer, shard: true } }
    for (const [name, options] of [['sft', sft] as const, ['rl', grpo] as const]) {
      const [one, many] = [fresh('one'), fresh('four')]
      await train(name, one, options)
      expect(await train(name, many, options, { ranks: four })).toMatchObject({ outcome: 'finished', step: 20 })
      await expectSame(one, many, { final_model: 'language' })
      if (name === 'rl') expect(samplesOf(many)).toEqual(samplesOf(one))
    }
  } finally {
    await four.close()
  }
})

const rlRuns = [
  [
    'grpo',
    { algorithm: 'grpo', klController: { coef: 0.05 }, emaDecay: 0.5 },
    { final_model: 'language', ema_model: 'language' },
  ],
  [
    'ppo',
    { algorithm: 'ppo', critic: { optimizer: { lr: 1e-3, eps: 1e-3, shard: true } }, klController: { coef: 0.05 } },
    { final_model: 'language', value_model: 'value' },
  ],
] as const
test.each(rlRuns)('%s: two ranks make the same samples and train as one process does', async (_, own, models) => {
  const options = { ...rl, ...own }
  const [one, two, again] = [fresh('one'), fresh('two'), fresh('again')]
  const result = await train('rl', one, options)
  expect(result).toMatchObject({ outcome: 'finished' })
  expect(await train('rl', two, options, { ranks })).toMatchObject({ outcome: 'finished', step: result.step })
  await expectSame(one, two, models)
  expect(samplesOf(two)).toEqual(samplesOf(one))
  expect(samplesOf(two).length).toBe(40)
  // The second time with a stop in the middle: the state of two ranks goes on to the same bits.
  expect(await train('rl', again, options, { ranks, stopAt: 'updating' })).toMatchObject({ outcome: 'stopped' })
  await train('rl', again, options, { ranks, resume: true })
  for (const name of Object.keys(models)) expect(bits(again, name)).toBe(bits(two, name))
})

test('a reward model is on all ranks; a run of two ranks goes on with one process, and with one rank less', async () => {
  const rewards = await rewardModelDirectory(model)
  const options = { ...rl, rewards, iterations: 2 }
  const [one, two] = [fresh('one'), fresh('two')]
  await train('rl', one, options)
  expect(await train('rl', two, options, { ranks, stopAt: 'updating' })).toMatchObject({ outcome: 'stopped' })
  expect(existsSync(join(two, 'final_model'))).toBe(false)
  expect(await train('rl', two, { ...options, devices: 1 }, { resume: true })).toMatchObject({ outcome: 'finished' })
  await expectSame(one, two, { final_model: 'language' })
})
