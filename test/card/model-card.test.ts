import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { modelCard, publicConfig, publicName, runOfModel, writeModelCard } from '../../src/card/index.js'
import { Run } from '../../src/run/index.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)

async function madeRun(name: string, over: object, config: Record<string, unknown>): Promise<string> {
  const origins = Object.fromEntries(Object.keys(config).map(key => [key, 'grpo.yaml']))
  const run = await Run.create(
    at(name),
    identity(JSON.parse(JSON.stringify(config)), { origins, command: 'rl', ...over }),
    { keepCheckpoints: 1 },
  )
  for (const step of [1, 2, 3]) run.metrics(step, { 'reward/mean': step / 3, 'kl/mean': 0.001 * step })
  await run.close('finished')
  mkdirSync(join(at(name), 'best_model'))
  return at(name)
}

const frontOf = (text: string): Record<string, unknown> =>
  parse(/^---\n(.*?)\n---/s.exec(text)![1]!) as Record<string, unknown>

test('a card says what the model is, what it was made from, and how', async () => {
  mkdirSync(at('base'))
  writeFileSync(at('base/README.md'), '---\nlicense: apache-2.0\n---\n# base\n')
  const secret = 'sk-0123456789'
  const run = await madeRun(
    'sums',
    {},
    {
      ...{
        model: at('base'),
        data: at('prompts.jsonl'),
        rewards: [at('reward.ts'), 'format'],
        algorithm: 'grpo',
        output: at('sums'),
      },
      generator: { type: 'vllm', urls: ['http://10.0.0.7:8000'], apiKey: secret, headers: { authorization: secret } },
      systemPrompt: 'Answer briefly.',
      lora: { rank: 8 },
      seed: 3,
    },
  )
  expect(await runOfModel(join(run, 'best_model'))).toBe(run)
  const into = at('out')
  mkdirSync(into)
  expect(await writeModelCard(into, join(run, 'best_model'))).toEqual(['README.md', 'curves.png'])
  expect(readdirSync(into).sort()).toEqual(['README.md', 'curves.png'])
  const text = readFileSync(join(into, 'README.md'), 'utf8')
  expect(frontOf(text)).toEqual({
    ...{ library_name: 'transformers', license: 'apache-2.0', pipeline_tag: 'text-generation' },
    tags: ['whetstone', 'grpo', 'lora'],
  })
  for (const part of [
    '# sums\n',
    'Base model: base',
    'Data: prompts.jsonl',
    'Rewards: reward.ts, format',
    '![Curves of the training](curves.png)',
    '| reward/mean | 0.3333 | 1 |',
    'systemPrompt: Answer briefly.',
    'seed: 3',
    'whetstone replay sums',
    'whetstone 0.1.0',
  ])
    expect(text).toContain(part)
  for (const part of [folder, secret, '10.0.0.7', 'http://']) expect(text).not.toContain(part)
  expect(readFileSync(join(into, 'curves.png')).subarray(1, 4).toString()).toBe('PNG')
})

test('models and data of the Hub are named by their ids, in the front matter too', async () => {
  const run = await madeRun(
    'hub',
    { command: 'sft' },
    {
      model: '/cache/models--Qwen--Qwen2.5-0.5B/snapshots/060db6499f32faf8b98477b0a26969ef7d8b9987',
      data: { path: 'hf:openai/gsm8k:main/train' },
    },
  )
  const { text } = await modelCard(run, { form: 'adapter', title: 'mine' })
  expect(frontOf(text)).toMatchObject({
    base_model: 'Qwen/Qwen2.5-0.5B',
    datasets: ['openai/gsm8k'],
    library_name: 'peft',
  })
  expect(text).toContain('# mine\n')
  expect(text).toContain('PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), "mine")')
  expect(text).not.toContain('/cache')
})

test('a model that no run made has a card too', async () => {
  mkdirSync(at('plain'))
  const { text, curves } = await modelCard(at('plain'), { form: 'gguf' })
  expect(text).toContain('# plain\n')
  expect(text).toContain('ollama create')
  expect(curves).toBeUndefined()
})

test('names without paths', () => {
  expect(publicName('/home/me/runs/sft/best_model')).toBe('sft/best_model')
  expect(publicName('C:\\models\\mine')).toBe('mine')
  expect(publicName('exact-match')).toBe('exact-match')
  const origins = { a: 'x', 'b.url': 'x', 'b.apiKey': 'x', c: 'default', d: 'x' }
  const config = {
    a: ['/x/y.jsonl'],
    b: { url: 'https://me:pw@host/', apiKey: 'k' },
    c: 1,
    d: [{ token: 't', path: '/q/r' }],
  }
  expect(publicConfig(config, origins)).toEqual({ a: ['y.jsonl'], b: { url: '(an address)' }, d: [{ path: 'r' }] })
  // An adapter whose options are all defaults is an adapter.
  const lora = { rank: 16, alpha: 32 }
  expect(publicConfig({ lora }, { 'lora.rank': 'default', 'lora.alpha': 'default' })).toEqual({ lora })
})
