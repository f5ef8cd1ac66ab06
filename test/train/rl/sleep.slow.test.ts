/** Models that take turns on the device: every one of them is there when a checkpoint is written, read or exported. */
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, smallRun, start } from '../../support/rl.js'

const base = await smallRun({ seed: 13, prompts: 4, layers: 1 }, { iterations: 2, nSamplesPerPrompt: 2 })

test.each([
  ['a critic', { algorithm: 'ppo', updateEpochs: 2 }],
  ['a critic, a moving average and evaluations', { algorithm: 'ppo', emaDecay: 0.9, validationShare: 0.5 }],
  ['no critic', { algorithm: 'grpo', trainBatchSize: 2 }],
])('asleep with %s: the run is the one that never sleeps, also stopped and resumed', async (_, options) => {
  const given = { ...base, ...options, evaluation: { every: 1 } }
  const [awake, asleep, stopped] = [fresh('run'), fresh('run'), fresh('run')]
  await start({ ...given, output: awake })
  await start({ ...given, output: asleep, enableEngineSleep: true })
  expect(finalWeights(asleep).equals(finalWeights(awake))).toBe(true)
  const parts = { ...given, output: stopped, enableEngineSleep: true }
  let { outcome } = await start(parts, { stopAt: 'generating' })
  for (let stops = 0; outcome === 'stopped' && stops < 20; stops++)
    ({ outcome } = await start(parts, { resume: true, stopAt: 'updating' }))
  expect(finalWeights(stopped).equals(finalWeights(awake))).toBe(true)
  if ('updateEpochs' in options)
    expect(finalWeights(stopped, 'value_model').equals(finalWeights(awake, 'value_model'))).toBe(true)
  expect(await replayRl(stopped)).toMatchObject({ iterations: 2, mismatches: [] })
})
