/** Trainings of a model that is given a chat template: what they write has it, and what is wrong with it is known first. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { Tokenizer } from '../../src/text/index.js'
import { replaySupervised } from '../../src/train/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { conversations, data, modelDirectory, pipelineOf, preferences } from '../support/pipeline.js'

const folder = temporaryDirectory()
/** A model whose tokenizer has no template, and whose responses end with another token than ChatML's turns. */
let plain: string
const reward = join(folder, 'reward.mjs')
beforeAll(async () => {
  plain = await modelDirectory(1)
  rmSync(join(plain, 'chat_template.jinja'))
  writeFileSync(join(plain, 'generation_config.json'), '{"eos_token_id": 0, "top_k": 7}')
  writeFileSync(reward, 'export default ({ sample }) => sample\n')
})

const printed = capturedOutput()

const question = [{ role: 'user', content: 'Hi' }]
const asked = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
async function expectChatml(directory: string): Promise<void> {
  const tokenizer = await Tokenizer.load(directory, { chatTemplate: 'auto' })
  expect(tokenizer.renderChat(question, { addGenerationPrompt: true })).toBe(asked)
  const end = tokenizer.idOf('<|im_end|>')!
  expect(tokenizer.stopIds).toEqual([0, end])
  const generation = JSON.parse(readFileSync(join(directory, 'generation_config.json'), 'utf8'))
  expect(generation).toEqual({ eos_token_id: [0, end], top_k: 7 })
}

function config(values: object): string {
  const path = `${fresh('config')}.json`
  writeFileSync(path, JSON.stringify(values))
  return path
}
const small = { iterations: 1, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 2 }
const trainings: Record<string, () => { args: string[]; options: object }> = {
  sft: () => ({ args: ['sft'], options: { data: jsonl(conversations, 'rows'), maxSteps: 1 } }),
  'reward train': () => ({ args: ['reward', 'train'], options: { data: jsonl(preferences, 'rows'), maxSteps: 1 } }),
  dpo: () => ({ args: ['dpo'], options: { data: jsonl(preferences, 'rows'), maxSteps: 1 } }),
  rl: () => ({ args: ['rl'], options: { data: data.ppoDataPath, rewards: reward, ...small } }),
}

describe.each(Object.entries(trainings))('%s', (name, training) => {
  test('the model it makes has the template, and ends its turns', async () => {
    const { args, options } = training()
    const output = fresh('run')
    const path = config({ model: plain, output, device: 'cpu', chatTemplate: 'chatml', ...options })
    expect(await main([...args, '--config', path]), printed.output).toBe(0)
    await expectChatml(join(output, 'final_model'))
    await expectChatml(join(output, 'tokenizer'))
    if (name !== 'rl') expect((await replaySupervised(output)).mismatches).toEqual([])
  })

  test.each([
    ['a file that is not there', 'nowhere.jinja', /chatTemplate: .*nowhere\.jinja: there is no such file/],
    [
      'a template that does not parse',
      'broken.jinja',
      /chatTemplate: .*broken\.jinja: the chat template does not parse/,
    ],
  ])('%s is found by the dry run, and before anything is made', async (_, file, message) => {
    const { args, options } = training()
    const output = fresh('run')
    const path = config({ model: plain, output, device: 'cpu', chatTemplate: file, ...options })
    // Relative to the config.
    writeFileSync(join(path, '../broken.jinja'), '{% for %}')
    for (const more of [['--dry-run'], []]) {
      printed.clear()
      expect(await main([...args, '--config', path, ...more])).toBe(1)
      expect(printed.output).toMatch(message)
      expect(printed.output).toContain(path)
    }
    expect(existsSync(output)).toBe(false)
  })
})

test('a template of the tokenizer that does not parse is found by the dry run', async () => {
  const broken = await modelDirectory(2)
  writeFileSync(join(broken, 'chat_template.jinja'), '{% for %}')
  const path = config({ model: broken, output: fresh('run'), data: data.ppoDataPath, rewards: reward, ...small })
  expect(await main(['rl', '--config', path, '--dry-run'])).toBe(1)
  expect(printed.output).toMatch(/chat_template\.jinja: the chat template does not parse/)
  expect(await main(['rl', '--config', path, '--dry-run', '--set', 'chatTemplate=none'])).toBe(0)
})

test('chat and serve: a model without a template says what to give', async () => {
  expect(await main(['chat', '--model', plain])).toBe(1)
  expect(printed.output).toMatch(/has no chat template.*\n.*--chat-template chatml/)
  expect(await main(['chat', '--model', plain, '--chat-template', 'none'])).toBe(2)
  expect(await main(['serve', '--model', plain, '--chat-template', 'none'])).toBe(2)
})

test('a pipeline gives it to every stage', async () => {
  const pipeline = await pipelineOf({ baseModel: plain, chatTemplate: 'chatml', ppoIterations: 1 })
  const { stages } = await pipeline.runFullPipeline()
  for (const { model } of stages) await expectChatml(model)
})
