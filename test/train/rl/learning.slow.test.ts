/**
 * Whether it learns: a reward that can be verified rises by a margin stated here, over three seeds; a reward that has nothing to do
 * with what is written does not move the same measure half as far.
 */
import { expect, test } from 'vitest'
import { fresh } from '../../support/files.js'
import {
  letterReward,
  metricLines,
  modelDirectory,
  promptFile,
  quickly,
  shuffledReward,
  start,
} from '../../support/rl.js'

/** Of a reward between 0 and 1: what the last five iterations earn more than the first. */
const margin = 0.25

const settings = {
  ppo: { updateEpochs: 1, critic: { optimizer: { lr: 3e-3 } } },
  grpo: {},
  rloo: {},
}
const seeds = [1, 2, 3]
const models = await Promise.all(seeds.map(seed => modelDirectory(seed)))
const data = promptFile(16)

async function train(algorithm: keyof typeof settings, seed: number, rewards: string): Promise<string> {
  const output = fresh('run')
  const options = quickly({
    model: models[seeds.indexOf(seed)],
    data,
    rewards,
    output,
    algorithm,
    seed,
    nSamplesPerPrompt: 8,
    trainBatchSize: 16,
    rolloutBatchSize: 8,
    iterations: 20,
    maxNewTokens: 6,
    saveSteps: 1000,
    optimizer: { lr: 1e-2 },
    klController: { kind: 'fixed', coef: 0.001 },
    ...settings[algorithm],
  })
  expect((await start(options)).outcome).toBe('finished')
  return output
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length

async function rise(output: string, metric = 'reward/mean'): Promise<number> {
  const rewards = (await metricLines(output)).map(({ values }) => values[metric]!)
  return mean(rewards.slice(-5)) - rewards[0]!
}

test.each(Object.keys(settings) as (keyof typeof settings)[])(
  '%s raises a reward that can be verified',
  async algorithm => {
    for (const seed of seeds)
      expect(await rise(await train(algorithm, seed, letterReward)), `seed ${seed}`).toBeGreaterThan(margin)
  },
  300_000,
)

test('a reward that has nothing to do with the text raises nothing', async () => {
  for (const seed of seeds) {
    const output = await train('grpo', seed, shuffledReward)
    expect(await rise(output, 'reward/component/vowels'), `seed ${seed}`).toBeLessThan(margin / 2)
  }
}, 300_000)
