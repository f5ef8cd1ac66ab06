/** What is wrong is said before any work begins, and nothing is left behind. */
import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createRlhfPipeline, type PipelineOptions } from '../../src/pipeline/index.js'
import { fresh, jsonl } from '../support/files.js'
import { base, modelDirectory, pipelineOf } from '../support/pipeline.js'
import { tokenizer } from '../support/tokenizers.js'

/** A pipeline that is refused in whatever stage, with nothing written. */
async function refused(options: Partial<PipelineOptions>, ...says: (string | RegExp)[]): Promise<void> {
  const saveDir = fresh('refused')
  const attempt = async () => (await pipelineOf({ saveDir, ...options })).runFullPipeline()
  const error = await attempt().then(
    () => undefined,
    (found: Error) => found,
  )
  for (const text of says) expect(error?.message).toMatch(text)
  expect(existsSync(saveDir)).toBe(false)
}

test('a missing base model is an error, and never random weights', async () => {
  await refused({ baseModel: undefined }, /^baseModel: missing/)
  await refused({ baseModel: fresh('nowhere') }, /stage sft: baseModel: .*nowhere/)
})

test('data of a later stage is read before an earlier one begins', async () => {
  await refused({ ppoDataPath: fresh('none') }, /stage ppo: ppoDataPath: .*there is no such file/)
  await refused({ ppoDataPath: jsonl([{ text: 'a story' }], 'prompts') }, /stage ppo: .*prompt/s)
  await refused({ rewardDataPath: jsonl([{ prompt: 'a', chosen: 'b' }], 'pairs') }, /stage reward: .*rejected/s)
  await refused({ sftDataPath: jsonl([{ conversations: 3 }], 'rows') }, /stage sft: .*:1/s)
})

test('an empty set of prompts is refused', async () => {
  await refused({ ppoDataPath: jsonl([], 'prompts') }, /stage ppo: .*no rows/)
})

test('options of a later stage are checked before an earlier one begins', async () => {
  await refused({ ppo: { gama: 0.9 } }, /there is no option "gama"; did you mean gamma\?/)
  await refused({ reward: { margin: -1 } }, /config: reward: margin/)
  await refused({ ppo: { maxNewTokens: 64 } }, /ppo.maxNewTokens: 64 leaves no room for a prompt/)
  await refused({ ppo: { output: 'x' } }, /ppo.output: the pipeline sets it/)
})

test('an option of another algorithm says whose options the section takes, and where it came from', async () => {
  await expect((await pipelineOf({ algorithm: 'dpo', ppo: { gamma: 0.9 } })).check()).rejects.toMatchObject({
    message: 'config: ppo: there is no option "gamma"',
    remedy: 'With algorithm dpo the section ppo takes the options of docs/preferences.md.',
  })
  const layers = [{ origin: '--set', values: { ppo: { gama: 1 } } }]
  await expect((await pipelineOf({ ppo: { gamma: 0.9 } }, { layers })).check()).rejects.toThrow(
    '--set: ppo: there is no option "gama"; did you mean gamma?',
  )
})

test('rewards of a later stage are loaded before an earlier one begins', async () => {
  const rewards = `${fresh('reward')}.mjs`
  writeFileSync(rewards, 'export const nothing = 1\n')
  await refused({ ppo: { rewards } }, /stage ppo: /)
})

test('what is no config, and no stage, is said to be none', async () => {
  for (const config of [undefined, null, 3, []])
    await expect(createRlhfPipeline(config as unknown as string)).rejects.toThrow(
      /^config: expected an object of options/,
    )
  const pipeline = await pipelineOf()
  const stages = ['sft', 'rm'] as unknown as ['sft']
  await expect(pipeline.runFullPipeline({ stages })).rejects.toThrow('stages: there is no stage "rm"')
  await expect(pipeline.runFullPipeline({ stages: [] })).rejects.toThrow('stages: expected at least one')
  await expect(pipeline.generateSample('hi', { model: base, maxNewTokens: 64 })).rejects.toThrow(
    /^maxNewTokens: 64 leaves no room for a prompt in the 64 tokens/,
  )
  await expect(pipeline.generateSample('hi', { model: fresh('none') })).rejects.toThrow(/does not exist/)
  await expect(pipeline.evaluateModel({ model: base, data: undefined as unknown as string })).rejects.toThrow(
    /^data: missing/,
  )
})

test('a stage alone says what it needs and how to get it', async () => {
  const pipeline = await pipelineOf()
  await expect(pipeline.runRewardTraining()).rejects.toThrow(/stage reward: needs the model of the SFT stage/)
  await expect(pipeline.runPpoTraining({ sftModel: base })).rejects.toThrow(/stage ppo: needs a reward model/)
  await expect(pipeline.runPpoTraining({ sftModel: base, rewardModel: base })).rejects.toThrow(
    /rewardModel: .* is a language model; expected a reward model \(with a score head\)/,
  )
  expect(existsSync(pipeline.config.saveDir)).toBe(false)
})

test('models of another vocabulary are refused before work starts', async () => {
  const small = await modelDirectory(3, { vocabSize: 100 })
  await refused({ baseModel: small }, /vocabulary of 100/)
  await refused({ sftModel: small }, /stage reward: model: .*vocabulary of 100/)
  const pipeline = await pipelineOf()
  const { model: rewardModel } = await (await pipelineOf({ sftModel: base })).runRewardTraining()
  writeFileSync(`${rewardModel}/tokenizer.json`, JSON.stringify({ version: '1.0', added_tokens: [] }))
  await expect(pipeline.runPpoTraining({ sftModel: base, rewardModel })).rejects.toThrow(
    /rewardModel: .* have different tokenizers/,
  )
})

test('a pickle is never read', async () => {
  await expect(pipelineOf({ tokenizerPath: 'tokenizer.pkl' })).rejects.toThrow(/tokenizerPath: .*pickle.*not supported/)
})

test("a tokenizer that is not the base model's is refused", async () => {
  const llama = new URL('../fixtures/tokenizer-llama2/', import.meta.url).pathname
  await refused({ tokenizerPath: llama }, /tokenizerPath: .* have different tokenizers/)
  expect(tokenizer.vocabSize).toBeGreaterThan(100)
})

test('a stage is not run beside a model that takes its place', async () => {
  const pipeline = await pipelineOf({ sftModel: base })
  await expect(pipeline.runFullPipeline({ stages: ['sft', 'ppo'] })).rejects.toThrow(
    /^sftModel: .* replaces the result/,
  )
  await expect(pipeline.runSft()).rejects.toMatchObject({ remedy: 'Remove the stage sft, or the option sftModel.' })
})

test('a tokenizer is held against a model that no stage made, too', async () => {
  const llama = new URL('../fixtures/tokenizer-llama2/', import.meta.url).pathname
  await refused({ sftModel: base, tokenizerPath: llama }, /^tokenizerPath: .* have different tokenizers/)
  await refused({ sftModel: base, tokenizerPath: fresh('none') }, /^tokenizerPath: .*tokenizer.json: not found/)
  await refused({ tokenizerPath: fresh('none') }, /^tokenizerPath: .*tokenizer.json: not found/)
})

test('a device that is none is refused', async () => {
  await expect(pipelineOf({ device: 'mps' })).rejects.toThrow(/device: .*auto, cpu, cuda or cuda:N/)
  // In the first second, though the stages before it would do without.
  await refused({ ppo: { device: 'cuda:99' } }, /^stage ppo: device: there is no cuda:99 on this machine/)
})
