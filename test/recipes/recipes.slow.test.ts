/** The recipes as a user starts them, on a small model with random weights and for one iteration. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { runWhetstone } from '../support/child.js'
import { quick, repository } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
const examples = join(repository, 'examples')

beforeAll(async () => {
  const project = quick()
  cpSync(join(repository, 'recipes'), join(folder, 'recipes'), { recursive: true })
  symlinkSync(join(project, 'install'), join(folder, 'install'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(project, join(folder, 'node_modules/whetstone'))
  symlinkSync(join(repository, 'node_modules/zod'), join(folder, 'node_modules/zod'))
  const texts = ['gsm8k-grpo/rows.jsonl', 'hh-rlhf-ppo/pairs.jsonl'].map(name => join(examples, name))
  const size = '--hidden 32 --intermediate 64 --layers 1 --heads 2 --kv-heads 2 --head-dim 16'.split(' ')
  for (const args of [
    ['tokenizer', 'train', '--input', ...texts, '--vocab-size', '400', '--out', 'tokenizer'],
    ['init', '--family', 'qwen2', '--size', '2m', ...size, '--tokenizer', 'tokenizer', '--out', 'model'],
  ]) {
    const { code, stderr } = await runWhetstone(args, { cwd: folder })
    expect(code, stderr).toBe(0)
  }
}, 300_000)

/** Runs a recipe; gives its figures. */
function run(name: string, flags: readonly string[]): Record<string, number>[] {
  const args = [`recipes/${name}/run.mjs`, '--model', 'model', '--out', `runs/${name}`, '--device', 'cpu', ...flags]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  expect(status, `${stdout}\n${stderr}`).toBe(0)
  expect(stdout).toContain('| figure | mean | spread | each seed |')
  return JSON.parse(readFileSync(join(folder, 'runs', name, 'figures.json'), 'utf8'))
}
const once = (stage: string): string[] =>
  ['iterations=1', 'rolloutBatchSize=2', 'nSamplesPerPrompt=2', 'maxNewTokens=4'].flatMap(option => [
    '--set',
    `${stage}:${option}`,
  ])

test('every recipe has a page that the list names', () => {
  const list = readFileSync(join(repository, 'recipes/README.md'), 'utf8')
  const directories = readdirSync(join(repository, 'recipes'), { withFileTypes: true }).filter(entry =>
    entry.isDirectory(),
  )
  for (const { name } of directories) {
    expect(list).toContain(`[${name}](${name})`)
    expect(readdirSync(join(repository, 'recipes', name))).toEqual(expect.arrayContaining(['README.md', 'run.mjs']))
  }
})

test('sums, for two seeds; the same command again does nothing, and a lost figure is measured again', () => {
  const flags = ['--seeds', '0,1', ...once('grpo')]
  const figures = run('sums', flags)
  expect(figures).toHaveLength(2)
  for (const one of figures) {
    expect(one['right after GRPO, %']).toBeGreaterThanOrEqual(0)
    expect(one['seconds: grpo']).toBeGreaterThan(0)
  }
  rmSync(join(folder, 'runs/sums/seed-1/test-grpo.json'))
  const again = run('sums', flags)
  expect(again[0]).not.toHaveProperty('seconds: grpo')
  expect(Object.keys(again[1]!).filter(key => key.startsWith('seconds'))).toEqual(['seconds: test-grpo'])
  expect(again[1]!['right after GRPO, %']).toBe(figures[1]!['right after GRPO, %'])
}, 300_000)

test('gsm8k', () => {
  const rows = join(examples, 'gsm8k-grpo/rows.jsonl')
  const [figures] = run('gsm8k', [
    '--train',
    rows,
    '--test',
    rows,
    ...once('grpo'),
    '--set',
    'grpo:validationShare=0.3',
  ])
  expect(Object.keys(figures!)).toEqual(expect.arrayContaining(['right after SFT, %', 'right after GRPO, %']))
}, 300_000)

test('hh-rlhf', () => {
  const [figures] = run('hh-rlhf', [
    '--pairs',
    join(examples, 'hh-rlhf-ppo/pairs.jsonl'),
    ...once('ppo'),
    '--set',
    'ppo:critic.warmupIterations=0',
  ])
  for (const name of ['win rate of PPO, %', 'win rate of DPO, %', 'tokens after PPO', 'tokens after DPO'])
    expect(figures![name]).toBeGreaterThanOrEqual(0)
}, 300_000)
