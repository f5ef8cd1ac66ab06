import { existsSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { fresh } from '../support/files.js'
import { base, filesOf, modelDirectory, pipelineOf } from '../support/pipeline.js'

test('all stages leave the documented tree, and no stage changes what another one made', async () => {
  const pipeline = await pipelineOf()
  const { saveDir } = pipeline.config
  const sft = await pipeline.runSft()
  const afterSft = filesOf(sft.model)
  const reward = await pipeline.runRewardTraining()
  expect(filesOf(sft.model)).toEqual(afterSft)
  const afterReward = filesOf(reward.model)
  const { outcome, stages, model } = await pipeline.runFullPipeline()
  expect(outcome).toBe('finished')
  expect(stages.map(one => [one.stage, one.outcome])).toEqual([
    ['sft', 'skipped'],
    ['reward', 'skipped'],
    ['ppo', 'finished'],
  ])
  expect(filesOf(sft.model)).toEqual(afterSft)
  expect(filesOf(reward.model)).toEqual(afterReward)
  expect(model).toBe(join(saveDir, 'ppo/final_model'))
  for (const path of [
    ...['config.json', 'sft/best_model', 'reward_model/best_model', 'ppo/final_model'],
    ...['ppo/iteration_000001', 'ppo/iteration_000001/value_model', 'ppo/iteration_000002/value_model'],
    'ppo/value_model',
    ...[
      'logs/pipeline.log',
      'samples/base.jsonl',
      'samples/sft.jsonl',
      'samples/reward_model.jsonl',
      'samples/ppo.jsonl',
    ],
    ...['sft', 'reward_model', 'ppo'].flatMap(name => [
      `logs/${name}.metrics.jsonl`,
      `logs/${name}.svg`,
      `logs/${name}.png`,
    ]),
  ])
    expect(existsSync(join(saveDir, path)), path).toBe(true)
})

test('evaluateModel does not compare the SFT model with itself, whatever the path that names it', async () => {
  const link = fresh('link')
  symlinkSync(base, link)
  const pipeline = await pipelineOf({ sftModel: base })
  const data = pipeline.config.sftDataPath
  for (const model of [base, relative(process.cwd(), base), `${base}/.`, link]) {
    const { evaluation } = await pipeline.evaluateModel({ model, data, metrics: ['perplexity'] })
    expect(evaluation.reference).toBeUndefined()
  }
  const other = relative(process.cwd(), await modelDirectory(2))
  const { evaluation } = await pipeline.evaluateModel({ model: other, data, metrics: ['perplexity'] })
  expect(evaluation.reference!.directory).toBe(base)
  expect(evaluation.reference!.perplexity!.value).not.toBe(evaluation.model.perplexity!.value)
})
