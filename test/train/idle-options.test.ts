/** Options that other options leave without effect are said, in the dry run and in the run. */
import { expect, test } from 'vitest'
import {
  type ConfigLayer,
  experienceIdle,
  idleOptions,
  resolveConfig,
  resolveRlConfig,
  rewardModelIdle,
  rewardModelSchema,
  rlIdle,
  sftSchema,
  supervisedIdle,
} from '../../src/train/index.js'

const file = (values: object): ConfigLayer[] => [{ origin: 'a.yaml', directory: '/', values: values as never }]
const rows = { model: 'm', data: 'd.jsonl', output: 'o' }
const prompts = { ...rows, rewards: 'r.ts' }

const sft = (values: object): string[] =>
  idleOptions(resolveConfig(sftSchema, file({ ...rows, ...values })), supervisedIdle)
const reward = (values: object): string[] =>
  idleOptions(resolveConfig(rewardModelSchema, file({ ...rows, ...values })), rewardModelIdle)
const rl = (values: object): string[] => idleOptions(resolveRlConfig(file({ ...prompts, ...values })), rlIdle)

test('trainings on rows', () => {
  expect(sft({})).toEqual([])
  expect(sft({ evalSteps: 5, optimizer: { minLrRatio: 0.1 } })).toEqual([
    'a.yaml: evalSteps has no effect: there is no validation data; give validationData or validationShare',
    'a.yaml: optimizer.minLrRatio has no effect: optimizer.schedule is constant',
  ])
  expect(sft({ evalSteps: 5, validationShare: 0.1, optimizer: { minLrRatio: 0.1, schedule: 'cosine' } })).toEqual([])
  expect(reward({ temperature: 2, rankingWeight: 1 })).toEqual([
    'a.yaml: temperature has no effect: only the contrastive term uses it, and contrastiveWeight is 0',
  ])
  expect(reward({ margin: 1, rankingWeight: 0, contrastiveWeight: 1, temperature: 2 })).toEqual([
    'a.yaml: margin has no effect: only the ranking term uses it, and rankingWeight is 0',
  ])
  expect(reward({ freezeBackbone: true, gradientCheckpointing: true })).toEqual([
    'a.yaml: gradientCheckpointing has no effect: with freezeBackbone the layers have no backward pass',
  ])
})

test('reinforcement learning', () => {
  expect(rl({})).toEqual([])
  expect(rl({ algorithm: 'dapo' })).toEqual([])
  const said = rl({
    ...{ lambd: 0.9, firstTokenTemperature: 3, overlongBufferLen: 4, maxResampleRounds: 1, epochs: 2, iterations: 5 },
    ...{ evaluation: { every: 2 }, targetKl: 0.1, klController: { kind: 'fixed', coef: 0 }, klEstimator: 'k1' },
  })
  expect(said).toEqual([
    'a.yaml: lambd has no effect: only gae uses it, and advantageEstimator is group_norm',
    'a.yaml: firstTokenTemperature has no effect: useFire is off',
    'a.yaml: overlongBufferLen has no effect: overlongBuffer is off',
    'a.yaml: maxResampleRounds has no effect: dynamicSampling is off',
    'a.yaml: evaluation has no effect: there is no validation data; give validationData or validationShare',
    'a.yaml: epochs has no effect: iterations is set',
    'a.yaml: klEstimator has no effect: klController.coef is 0, so KL is not measured',
    'a.yaml: targetKl has no effect: an iteration has only one optimiser step',
  ])
  expect(
    rl({
      ...{ algorithm: 'ppo', lambd: 0.9, useFire: true, firstTokenTemperature: 3, epochs: 2, updateEpochs: 2 },
      ...{ overlongBuffer: true, overlongBufferLen: 4, dynamicSampling: true, nSamplesPerPrompt: 2, targetKl: 0.1 },
      ...{ maxResampleRounds: 1, validationShare: 0.1, evaluation: { every: 2 }, klEstimator: 'k1' },
    }),
  ).toEqual([])
  expect(rl({ algorithm: 'reinforce_baseline', gamma: 0.9 })).toEqual([
    'a.yaml: gamma has no effect: reinforce_baseline always uses 1',
  ])
  expect(experienceIdle.flatMap(({ options }) => options)).toContain('lambd')
})
