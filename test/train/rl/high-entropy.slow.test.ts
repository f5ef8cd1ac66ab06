/** `highEntropyTokenRatio` in every mode: the mask comes from the rollout's entropies where it was scored, else from the step's own. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/rollout/index.js'
import { Journal } from '../../../src/run/index.js'
import { fresh } from '../../support/files.js'
import { metricLines, smallRun, start } from '../../support/rl.js'

const base = await smallRun({ seed: 12, prompts: 4, layers: 1 }, { iterations: 1, nSamplesPerPrompt: 2 })
const ratio = 0.4

/** What the formula keeps of a run's responses: max(1, floor(T q)) tokens of each. */
async function keptShare(run: string): Promise<number> {
  const records = (await new Journal(join(run, 'journal')).read(0)).map(({ record }) => record as { kind: string })
  const lengths = records
    .filter(({ kind }) => kind === 'outcome')
    .map(record => (record as unknown as Extract<Outcome, { responseIds: unknown }>).responseIds.length)
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0)
  return sum(lengths.map(length => Math.max(1, Math.floor(length * ratio)))) / sum(lengths)
}

test.each([
  ['one step of GRPO', { algorithm: 'grpo' }],
  ['PPO', { algorithm: 'ppo', updateEpochs: 2 }],
  ['RLOO', { algorithm: 'rloo' }],
  ['several passes', { algorithm: 'grpo', updateEpochs: 2 }],
  ['several steps', { algorithm: 'grpo', trainBatchSize: 2 }],
  ['importance weights', { algorithm: 'grpo', tisCap: 2 }],
  ['KL in the rewards', { algorithm: 'grpo', useKlLoss: false }],
  ['entropy bonus', { algorithm: 'rloo', entropyCoef: 0.01 }],
])('%s trains on the tokens of highest entropy', async (_, options) => {
  const output = fresh('run')
  await start({ ...base, ...options, output, highEntropyTokenRatio: ratio })
  const [line] = await metricLines(output)
  expect(line!.values['policy/tokens_kept']).toBeCloseTo(await keptShare(output), 10)
})
