import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createRlhfPipeline, getDefaultConfig, type PipelineOptions, seedNames } from '../../src/pipeline/index.js'
import { stageConfig } from '../../src/pipeline/stage-configs.js'
import { fresh } from '../support/files.js'
import { quickly } from '../support/pipeline.js'

/** The config of the Python pipeline as its `get_default_config` writes it. */
const original = {
  ...{ model_name: 'minigpt', tokenizer_path: 'checkpoints/tokenizer', device: 'auto' },
  ...{ sft_data_path: 'sft.jsonl', sft_epochs: 3, sft_lr: 5e-5, sft_batch_size: 32 },
  ...{ reward_data_path: 'dpo.jsonl', reward_epochs: 5, reward_lr: 5e-5, reward_batch_size: 32 },
  freeze_reward_backbone: false,
  ...{ ppo_data_path: 'prompts.jsonl', ppo_iterations: 1000, ppo_lr_policy: 1e-5, ppo_lr_value: 3e-4 },
  ...{ ppo_batch_size: 32, ppo_mini_batch_size: 8, ppo_epochs: 4 },
  ...{ max_length: 512, save_dir: 'rlhf_outputs', save_interval: 100, log_level: 'INFO' },
}

function written(name: string, config: object): string {
  const path = `${fresh(name)}.json`
  writeFileSync(path, JSON.stringify(config))
  return path
}

test('every field of the original config is read, by its old name in its own file and by ours everywhere', async () => {
  expect(Object.keys(seedNames).sort()).toEqual(Object.keys(original).sort())
  const { config } = await createRlhfPipeline(written('seed', original))
  const { tokenizerPath: _, ...defaults } = getDefaultConfig()
  const names = ['sftDataPath', 'rewardDataPath', 'ppoDataPath', 'saveDir', 'tokenizerPath', 'modelName']
  expect(config).toMatchObject({
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !names.includes(name))),
  })
  expect(config).toMatchObject({ modelName: 'minigpt', logLevel: 'info' })
  for (const name of names.filter(one => one !== 'modelName'))
    expect(config[name as keyof typeof config], name).toMatch(/^\/tmp\/.*(jsonl|rlhf_outputs|tokenizer)$/)
})

test('a path may be a URL', async () => {
  const { config } = await createRlhfPipeline(pathToFileURL(written('seed', original)))
  expect(config.sftLr).toBe(5e-5)
})

test('an unknown key of the original config is named, with what was probably meant', async () => {
  await expect(createRlhfPipeline(written('seed', { sft_lr: 1, reward_learn: 2 }))).rejects.toThrow(
    /there is no option "reward_learn"/,
  )
  await expect(createRlhfPipeline(written('seed', { ...original, sft_epoch: 2 }))).rejects.toThrow(
    /there is no option "sft_epoch"; did you mean sft_epochs\?/,
  )
})

test('everywhere else snake_case is an error with the right name', async () => {
  const old = { sft_lr: 1e-4 } as unknown as PipelineOptions
  await expect(createRlhfPipeline(old)).rejects.toThrow('config: there is no option "sft_lr"; did you mean sftLr?')
  const mixed = written('mixed', { sft_lr: 1e-4, saveDir: 'x' })
  await expect(createRlhfPipeline(mixed)).rejects.toThrow('there is no option "sft_lr"; did you mean sftLr?')
  const yaml = `${fresh('config')}.yaml`
  writeFileSync(yaml, 'sft_lr: 1e-4\n')
  await expect(createRlhfPipeline(yaml)).rejects.toThrow(`${yaml}: there is no option "sft_lr"; did you mean sftLr?`)
})

test('an option of a training beside its section says where it belongs', async () => {
  const wrong = { maxBadRows: 3, gama: 1, packing: 'on' } as unknown as PipelineOptions
  const error: Error = await createRlhfPipeline(wrong).catch(found => found)
  expect(error.message.split('\n')).toEqual([
    'config: there is no option "maxBadRows"; use maxBadRows, in the sections sft, reward and ppo',
    'config: there is no option "gama"; use ppo: { gamma }',
    'config: there is no option "packing"; use packing, in the section sft',
  ])
})

test('what is wrong is said all at once, with types and ranges', async () => {
  const wrong = { sftEpochs: 0, sftLr: -1, rewardBatchSize: 1.5, logLevel: 'loud', freezeRewardBackbone: 'yes' }
  const error = await createRlhfPipeline(wrong as unknown as PipelineOptions).catch((found: Error) => found)
  for (const name of Object.keys(wrong)) expect((error as Error).message).toContain(`${name}: `)
})

const resolved = async (options: Partial<PipelineOptions>, stage: 'sft' | 'reward' | 'ppo', context = 2048) => {
  const pipeline = await createRlhfPipeline(quickly(options))
  return stageConfig(stage, pipeline, { model: '/m', context })
}

test('learning rates, epochs and batch sizes are those of the trainings', async () => {
  expect((await resolved({ sftLr: 0.5, sftEpochs: 7, sftBatchSize: 3 }, 'sft')).config).toMatchObject({
    ...{ epochs: 7, batchSize: 3, optimizer: { lr: 0.5, weightDecay: 0.01, maxGradNorm: 1, schedule: 'cosine' } },
  })
  expect((await resolved({ rewardLr: 0.5, freezeRewardBackbone: true }, 'reward')).config).toMatchObject({
    ...{ freezeBackbone: true, centerCoef: 0.01, optimizer: { lr: 0.5, warmupRatio: 0.1 } },
  })
  const ppo = {
    ppoIterations: 9,
    ppoLrPolicy: 0.1,
    ppoLrValue: 0.2,
    ppoBatchSize: 6,
    ppoMiniBatchSize: 3,
    ppoEpochs: 5,
  }
  expect((await resolved({ ...ppo, ppo: { maxNewTokens: 50 }, maxLength: 300 }, 'ppo')).config).toMatchObject({
    ...{ iterations: 9, rolloutBatchSize: 6, trainBatchSize: 3, updateEpochs: 5, exportEvery: 1, promptMaxLen: 250 },
    ...{ gamma: 0.99, lambd: 0.95, entropyCoef: 0.01, targetKl: 0.01, advantageEstimator: 'gae' },
    optimizer: { lr: 0.1, maxGradNorm: 0.5 },
    critic: { optimizer: { lr: 0.2, maxGradNorm: 0.5 }, valueClip: 0.2 },
    klController: { kind: 'fixed', coef: 0.01 },
  })
})

test('a section has the last word, and its own device; an option under both names is an error', async () => {
  expect((await resolved({ reward: { device: 'cuda:1', margin: 2 } }, 'reward')).config).toMatchObject({
    ...{ device: 'cuda:1', margin: 2 },
  })
  expect((await resolved({ reward: { device: 'cuda:1' } }, 'sft')).config.device).toBe('cpu')
  await expect(resolved({ sft: { optimizer: { lr: 1 } } }, 'sft')).rejects.toThrow(
    'sft.optimizer.lr: sftLr sets the same option; give only one of them',
  )
})

test('sequences are as long as the model takes unless more is asked for', async () => {
  expect((await resolved({}, 'sft', 64)).config).toMatchObject({ maxLength: 64 })
  expect((await resolved({}, 'sft')).config).toMatchObject({ maxLength: 512 })
  expect((await resolved({ maxLength: 100 }, 'reward', 64)).config).toMatchObject({ maxLength: 100 })
})

test('options that no stage reads are named, defaults that were written out are not', async () => {
  const unused = async (options: PipelineOptions) => [...(await createRlhfPipeline(options)).unusedOptions].sort()
  const all = { ...getDefaultConfig(), baseModel: 'm' }
  expect(await unused(all)).toEqual([])
  expect(await unused({ ...all, algorithm: 'dpo', rewardLr: 1, ppoIterations: 2, rewardEpochs: 1 })).toEqual([
    ...['ppoIterations', 'rewardLr'],
  ])
  expect(await unused({ ...all, algorithm: 'grpo', ppoLrValue: 1, ppoEpochs: 2 })).toEqual(['ppoLrValue'])
  expect(await unused({ ...all, sftModel: 'm', sftEpochs: 1, sft: { packing: false } })).toEqual(['sft', 'sftEpochs'])
  expect(await unused({ ...all, ppo: { rewards: 'r.ts' }, freezeRewardBackbone: true })).toEqual([
    'freezeRewardBackbone',
  ])
})
