/** Every verb on models and data sets of the Hub by id: what is fetched, what is recorded, and how a run goes on when a branch has moved. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { dpo, evaluate, grpo, pipeline, rewardModel } from '../../src/index.js'
import { Run } from '../../src/run/index.js'
import { cli } from '../support/cli.js'
import { type Files, HubServer } from '../support/doubles/hub-server.js'
import { fresh, temporaryDirectory, written } from '../support/files.js'
import { conversations, quickly as pipelineOptions, preferences, prompts } from '../support/pipeline.js'
import { letterReward, modelDirectory, quickly } from '../support/rl.js'
import { rewardModelDirectory } from '../support/tiny-model.js'

const hub = await HubServer.start()
const home = temporaryDirectory()
const filesOf = (directory: string): Files =>
  Object.fromEntries(readdirSync(directory).map(name => [name, readFileSync(join(directory, name))]))
const lines = (rows: readonly unknown[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

const source = await modelDirectory(1)
const first = filesOf(source)
const second = filesOf(await modelDirectory(2))
const judge = filesOf(await rewardModelDirectory(source))
const card = (configs: readonly string[]): string =>
  `---\nconfigs:\n${configs
    .map(
      name =>
        `- config_name: ${name}\n  data_files:\n  - {split: train, path: ${name}/train.jsonl}\n  - {split: test, path: ${name}/test.jsonl}`,
    )
    .join('\n')}\n---\n# Rows\n`
const rowsOf = { talks: conversations, pairs: preferences, prompts } as const
const dataFiles = (take: number): Files => ({
  'README.md': card(Object.keys(rowsOf)),
  ...Object.fromEntries(
    Object.entries(rowsOf).flatMap(([name, rows]) => [
      [`${name}/train.jsonl`, lines(rows.slice(0, take))],
      [`${name}/test.jsonl`, lines(rows.slice(-4))],
    ]),
  ),
})

beforeAll(() => {
  for (const [name, value] of Object.entries(hub.env(home))) vi.stubEnv(name, value)
})
afterAll(() => vi.unstubAllEnvs())

/** New repositories under this name, and what moves their branches. */
function repositories(name: string) {
  const model = hub.add(`models/${name}/policy`, first)
  const data = hub.add(`datasets/${name}/rows`, dataFiles(8))
  hub.add(`models/${name}/judge`, { ...judge })
  const move = () => ({
    model: hub.commit(`models/${name}/policy`, second),
    data: hub.commit(`datasets/${name}/rows`, dataFiles(12)),
  })
  return { model, data, move }
}

const common = { chatTemplate: 'none', device: 'cpu', saveSteps: 1 } as const
const supervised = { ...common, batchSize: 4, maxLength: 64, epochs: 2 } as const
const trainings = {
  grpo: {
    run: grpo,
    part: 'prompts/train',
    options: quickly({ rewards: letterReward, iterations: 1 }),
    more: { iterations: 2 },
  },
  dpo: { run: dpo, part: 'pairs/train', options: { ...supervised, maxSteps: 1 }, more: { maxSteps: 2 } },
  'reward train': {
    run: rewardModel,
    part: 'pairs/train',
    options: { ...supervised, maxSteps: 1 },
    more: { maxSteps: 2 },
  },
} as const

test.each(Object.entries(trainings))('%s by ids records both commits and goes on with them', async (name, training) => {
  const lab = `lab-${name.replace(' ', '-')}`
  const { model, data, move } = repositories(lab)
  const output = fresh(lab)
  const options = { ...training.options, model: `${lab}/policy`, data: `${lab}/rows:${training.part}`, output }
  const run = training.run as (options: never) => PromiseLike<{ step: number }>
  await run(options as never)
  const recorded = async () => {
    const { model, dataset } = (await Run.read(output)).config.inputs!
    return [model![`hf:${lab}/policy`], dataset![`hf:${lab}/rows`]]
  }
  expect(await recorded()).toEqual([model, data])
  const moved = move()
  const resume = { ...options, ...training.more, resume: true }
  const { step } = await run({ ...resume, allowChange: ['iterations'] } as never)
  expect({ step, commits: await recorded() }).toEqual({ step: 2, commits: [model, data] })
  // Another revision by name is another input.
  const other = run({ ...resume, model: `${lab}/policy@${moved.model}` } as never)
  await expect(other).rejects.toThrow(/options or inputs of the run have changed/)
})

test('a reward model by id: its commit is recorded, and kept when its branch moves', async () => {
  hub.add('models/lab/policy', first)
  const commit = hub.add('models/lab/judge', { ...judge })
  const output = fresh('judged')
  const data = written('prompts.jsonl', lines(prompts))
  const options = { ...quickly({ iterations: 1 }), model: 'lab/policy', data, rewards: 'lab/judge', output }
  const run = grpo as (options: never) => PromiseLike<unknown>
  await run(options as never)
  const recorded = async () => (await Run.read(output)).config.inputs!.rewards!['hf:lab/judge']
  expect(await recorded()).toBe(commit)
  hub.commit('models/lab/judge', { ...judge, 'README.md': '# newer' })
  await run({ ...options, iterations: 2, resume: true, allowChange: ['iterations'] } as never)
  expect(await recorded()).toBe(commit)
})

test('experience, eval and chat take ids of models and of data sets', async () => {
  repositories('verbs')
  const output = fresh('experiences.jsonl')
  const flags = ['--model', 'verbs/policy', '--device', 'cpu', '--chat-template', 'none', '--max-new-tokens', '4']
  const made = await cli([
    ...['experience', ...flags, '--data', 'verbs/rows:prompts/test', '--rewards', 'verbs/judge', '--output', output],
    ...['--n-samples-per-prompt', '2', '--advantage-estimator', 'group_norm'],
  ])
  expect(made.stderr).not.toContain('whetstone:')
  expect(readFileSync(output, 'utf8').trim().split('\n')).toHaveLength(8)
  const { evaluation } = await evaluate({
    ...{ model: 'verbs/policy', data: 'verbs/rows:talks/test', reward: 'verbs/judge' },
    ...{ device: 'cpu', chatTemplate: 'none', maxNewTokens: 4 },
  })
  expect(evaluation.model).toMatchObject({ perplexity: { rows: 4 }, rewards: { scored: 4 } })
  const chat = [
    'chat',
    '--model',
    'verbs/policy',
    '--device',
    'cpu',
    '--chat-template',
    'chatml',
    '--max-new-tokens',
    '2',
  ]
  const talked = await cli(chat, { input: 'Hi\n' })
  expect({ code: talked.code, stderr: talked.stderr }).toMatchObject({ code: 0 })
})

test('a pipeline by ids: one commit for all its stages, kept when it goes on', async () => {
  const { model, data, move } = repositories('line')
  const saveDir = fresh('pipeline')
  const options = {
    ...pipelineOptions({ saveDir }),
    ...{ baseModel: 'line/policy', sftDataPath: 'line/rows:talks/train' },
    ...{ rewardDataPath: 'line/rows:pairs/train', ppoDataPath: 'line/rows:prompts/train' },
  }
  await pipeline(options, { stages: ['sft'] })
  move()
  await pipeline(options, { resume: true })
  const { commits } = JSON.parse(readFileSync(join(saveDir, 'config.json'), 'utf8')) as { commits: object }
  expect(commits).toEqual({ baseModel: { 'hf:line/policy': model }, dataset: { 'hf:line/rows': data } })
  for (const stage of ['sft', 'reward_model', 'ppo']) {
    const { fingerprints } = (await Run.read(join(saveDir, stage))).config
    expect(Object.keys(fingerprints).every(name => name.includes(data))).toBe(true)
  }
})

test('one split is fetched alone, and another one later; a bare name may be that of a split', async () => {
  const commit = hub.add('datasets/org/parts', dataFiles(8))
  hub.asked.length = 0
  const asked = () => hub.asked.flatMap(({ path }) => /\/resolve\/[^/]+\/(.+)$/.exec(path)?.slice(1) ?? []).sort()
  const inspect = (name: string) => cli(['data', 'inspect', name])
  const seen = await inspect('org/parts:pairs/test')
  expect(seen.code).toBe(0)
  expect(asked()).toEqual(['README.md', 'pairs/test.jsonl'])
  expect(seen.stderr).toMatch(/Fetching org\/parts at commit \w+ from \S+: 1 of 2 files, 0?\.?\d* ?k?B/i)
  hub.asked.length = 0
  await inspect('org/parts:pairs/test')
  expect(asked()).toEqual([])
  await inspect('org/parts:pairs')
  expect(asked()).toEqual(['pairs/train.jsonl'])
  const directory = join(home, 'hub/datasets--org--parts/snapshots', commit)
  expect(existsSync(join(directory, 'talks'))).toBe(false)

  // A split that is not there is named before anything of it is fetched.
  hub.asked.length = 0
  const wrong = await inspect('org/parts:pairs/tset')
  expect(wrong.stderr).toContain('org/parts: no split is called tset; did you mean test?')
  expect(asked()).toEqual([])

  // Without a card, names say it: here `test` is the split.
  const plain = { 'train.jsonl': lines(prompts), 'test.jsonl': lines(prompts.slice(0, 3)) }
  hub.add('datasets/org/bare', plain)
  hub.asked.length = 0
  expect((await inspect('org/bare:test')).stdout).toMatch(/\b3\b/)
  expect(asked()).toEqual(['test.jsonl'])
  // Offline, what was never fetched is missing, and not mistaken for what is here.
  vi.stubEnv('HF_HUB_OFFLINE', '1')
  expect((await inspect('org/bare')).stderr).toContain('is not in')
  expect((await inspect('org/bare:test')).code).toBe(0)
  vi.stubEnv('HF_HUB_OFFLINE', '')
  await cli(['download', 'org/bare', '--data'])
  expect(asked()).toEqual(['test.jsonl', 'train.jsonl'])
})
