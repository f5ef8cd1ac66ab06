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
let four: Ranks
let model: string
beforeAll(async () => {
  ranks = await Ranks.of({ device: 'cpu', devices: 2 })
  four = await Ranks.of({ device: 'cpu', devices: 4 })
  model = await modelDirectory(1, { context: 96 })
})
afterAll(async () => {
  await ranks.close()
  await four.close()
})

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
    values: Object.entries(values).filter(
      ([name]) => !/^(speed|time|memory|seconds|samples\/reused|rollouts\/ahead)/.test(name),
    ),
  }))

/** What a journal says of every row or sample. Losses of two ranks differ in their last bits. */
const entriesOf = (name: TrainingName, run: string): readonly string[] =>
  name === 'rl' ? samplesOf(run) : journalOf(run).map(line => JSON.stringify(line).replace(/"loss[^,}]*/g, ''))

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

const cases = [
  [
    'sft',
    'sft',
    { ...rows, data: conversations, optimizer, gradientCheckpointing: true, tokenBudget: 64 },
    { final_model: 'language' },
  ],
  ['reward', 'reward', { ...rows, data: pairs, optimizer: { ...optimizer, shard: true } }, { final_model: 'reward' }],
  [
    'dpo',
    'preference',
    { ...rows, data: pairs, optimizer, lora: { rank: 4, alpha: 8, dropout: 0.2 } },
    { final_model: 'language' },
  ],
  [
    'grpo',
    'rl',
    { ...rl, algorithm: 'grpo', klController: { coef: 0.05 }, emaDecay: 0.5 },
    { final_model: 'language', ema_model: 'language' },
  ],
  [
    'ppo',
    'rl',
    {
      ...{ ...rl, algorithm: 'ppo', klController: { coef: 0.05 } },
      critic: { optimizer: { lr: 1e-3, eps: 1e-3, shard: true } },
    },
    { final_model: 'language', value_model: 'value' },
  ],
] as const
test.each(cases)('%s: two ranks and four train as one process does', async (_, name, options, models) => {
  const [one, two, again, many] = [fresh('one'), fresh('two'), fresh('again'), fresh('four')]
  const { step } = await train(name, one, options)
  expect(step).toBeGreaterThanOrEqual(20)
  expect(await train(name, two, options, { ranks })).toMatchObject({ outcome: 'finished', step })
  // More than a batch has rows.
  const divided = { ...options, optimizer: { ...options.optimizer, shard: true } }
  expect(await train(name, many, divided, { ranks: four })).toMatchObject({ outcome: 'finished', step })
  for (const found of [two, many]) {
    await expectSame(one, found, models)
    expect(entriesOf(name, found)).toEqual(entriesOf(name, one))
  }
  // The same ranks come to the same bits; where samples are made, with a stop in the middle.
  if (name === 'rl') {
    expect(entriesOf(name, one).length).toBe(40)
    expect(await train(name, again, options, { ranks, stopAt: 'updating' })).toMatchObject({ outcome: 'stopped' })
  }
  await train(name, again, options, { ranks, resume: name === 'rl' })
  for (const model of Object.keys(models)) expect(bits(again, model)).toBe(bits(two, model))
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
