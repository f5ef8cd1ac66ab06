/** Runs that keep adapters alone: what they leave is chatted with, evaluated, exported, and used as a reward. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { answerPairs } from '../support/answers.js'
import { cli } from '../support/cli.js'
import { fresh, jsonl } from '../support/files.js'
import { quickly as quickPipeline } from '../support/pipeline.js'
import { promptFile } from '../support/rl.js'
import { modelDirectory } from '../support/tiny-model.js'

const lora = ['--set', 'lora={"rank":2,"alpha":4}', '--keep', 'adapters', '--device', 'cpu']
const rows = jsonl(Array.from({ length: 8 }, (_, i) => ({ prompt: `Say ${i}`, completion: String(i) })))
const models = (run: string): string[] =>
  readdirSync(run)
    .filter(name => /_(model|adapter)$/.test(name))
    .sort()

let model: string
beforeAll(async () => {
  model = await modelDirectory(1)
})

test('SFT: chat, eval and export take its best adapter', async () => {
  const run = fresh('run')
  const trained = await cli(['sft', '--model', model, '--data', rows, '--output', run, '--max-steps', '2', ...lora])
  expect(trained.stderr).toContain(`whetstone chat --model ${join(run, 'final_adapter')}`)
  expect(models(run)).toEqual(['best_adapter', 'final_adapter'])
  const adapter = join(run, 'best_adapter')
  const chat = await cli(['chat', '--model', adapter, '--max-new-tokens', '2', '--device', 'cpu'], { input: 'Hi\n' })
  expect(chat.code).toBe(0)
  const evaluated = await cli([
    'eval',
    '--model',
    adapter,
    '--data',
    rows,
    '--metrics',
    'perplexity',
    '--device',
    'cpu',
  ])
  expect(evaluated.code).toBe(0)
  const out = fresh('whole')
  expect((await cli(['export', run, '--to', 'hf', '--out', out])).code).toBe(0)
  expect(existsSync(join(out, 'model.safetensors'))).toBe(true)
})

test('a reward model: its adapter is the reward of a GRPO run that keeps adapters too', async () => {
  const reward = fresh('reward')
  const pairs = jsonl(answerPairs(8, 1))
  const args = ['--model', model, '--data', pairs, '--output', reward, '--max-steps', '2', ...lora]
  const trained = await cli(['reward', 'train', ...args])
  const adapter = join(reward, 'final_adapter')
  expect(trained.stderr).toContain(`--rewards ${adapter}`)
  const run = fresh('run')
  const sizes = [
    '--iterations',
    '1',
    '--rollout-batch-size',
    '2',
    '--n-samples-per-prompt',
    '2',
    '--max-new-tokens',
    '4',
  ]
  const grpo = ['grpo', '--model', model, '--data', promptFile(4), '--output', run, ...sizes, ...lora]
  const made = await cli([...grpo, '--rewards', adapter])
  expect(made.stderr).not.toContain('Error')
  expect(made.code).toBe(0)
  expect(models(run)).toEqual(['best_adapter', 'final_adapter'])
  const refused = await cli([
    ...grpo.map(arg => (arg === run ? fresh('run') : arg)),
    '--rewards',
    join(run, 'best_adapter'),
  ])
  expect(refused.stderr).toContain('is an adapter of a language model; expected a reward model')
})

test('a pipeline: its last stage may, and earlier ones are refused with the reason', async () => {
  const keep = { keep: 'adapters', lora: { rank: 2, alpha: 4 } }
  const file = (options: object): string => {
    const path = `${fresh('pipeline')}.yaml`
    writeFileSync(path, stringify(options))
    return path
  }
  const config = quickPipeline({ ppo: keep })
  const ran = await cli(['pipeline', '--config', file(config)])
  expect(ran.code).toBe(0)
  const stage = join(config.saveDir!, 'ppo')
  expect(models(stage)).toEqual(['best_adapter', 'final_adapter', 'value_model'])
  expect(ran.stderr).toContain(`whetstone chat --model ${join(stage, 'best_adapter')}`)
  const dry = await cli(['pipeline', '--config', file(config), '--dry-run'])
  expect(dry.stderr).toContain('the stage is skipped')
  const refused = await cli(['pipeline', '--config', file(quickPipeline({ sft: keep })), '--dry-run'])
  expect(refused.stderr).toContain('later stages read the whole weights of sft/best_model')
})
