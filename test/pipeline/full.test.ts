import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesOf, pipelineOf } from './world.js'

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

test('samples are answers to the same prompts before and after, scored once there is a reward model', async () => {
  const pipeline = await pipelineOf({ samplePrompts: ['2 + 1?', 'hello'] })
  const { saveDir } = pipeline.config
  await pipeline.runFullPipeline()
  const rows = (name: string) =>
    readFileSync(join(saveDir, 'samples', `${name}.jsonl`), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { prompt: { content: string }[]; response: string; reward?: number })
  for (const name of ['base', 'sft', 'reward_model', 'ppo'])
    expect(
      rows(name).map(row => row.prompt[0]!.content),
      name,
    ).toEqual(['2 + 1?', 'hello'])
  expect(rows('base')[0]!.reward).toBeUndefined()
  for (const name of ['sft', 'reward_model', 'ppo']) expect(rows(name)[0]!.reward, name).toBeTypeOf('number')
  // A sample asked for later is the same one: the model is loaded from its files.
  expect(await pipeline.generateSample('2 + 1?')).toBe(rows('ppo')[0]!.response)
  const { model } = await pipeline.runSft()
  expect(await pipeline.generateSample('hello', { model })).toBe(rows('sft')[1]!.response)
})
