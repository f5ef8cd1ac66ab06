/** Models and data sets by id, in trainings and elsewhere: located once, recorded, and the same when a run goes on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { download, generate, LocalModel, serve, sft } from '../../src/index.js'
import { Run } from '../../src/run/index.js'
import { cli } from '../support/cli.js'
import { type Files, HubServer } from '../support/doubles/hub-server.js'
import { fresh, jsonl, temporaryDirectory, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const hub = await HubServer.start()
const home = temporaryDirectory()
const filesOf = (directory: string): Files =>
  Object.fromEntries(readdirSync(directory).map(name => [name, readFileSync(join(directory, name))]))
const first = filesOf(await modelDirectory(1))
const second = filesOf(await modelDirectory(2))
const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: `Question ${i}:`, completion: ' aeiou' }))
const jsonText = (lines: readonly object[]): Buffer =>
  Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
const options = { chatTemplate: 'none', device: 'cpu', batchSize: 2, saveSteps: 1, optimizer: { lr: 1e-3 } } as const

beforeAll(() => {
  for (const [name, value] of Object.entries(hub.env(home))) vi.stubEnv(name, value)
})
afterAll(() => vi.unstubAllEnvs())

test('a run records the commit, and goes on with it when the branch has moved', async () => {
  const commit = hub.add('models/org/tiny', first)
  const output = fresh('by-id')
  const data = jsonl(rows)
  const run = { ...options, model: 'org/tiny', data, output, epochs: 2 }
  await sft({ ...run, maxSteps: 2 })
  const before = (await Run.read(output)).config
  expect(before.inputs!.model!['hf:org/tiny']).toBe(commit)
  expect((before.config as { model: string }).model).toContain(commit)
  const moved = hub.commit('models/org/tiny', second)
  const { outcome, step } = await sft({ ...run, resume: true })
  expect({ outcome, step }).toEqual({ outcome: 'finished', step: 6 })
  expect((await Run.read(output)).config.inputs!.model!['hf:org/tiny']).toBe(commit)

  // The same run from the command line says so; a change has to be allowed.
  const config = written('sft.json', JSON.stringify({ ...run, output, epochs: 3 }))
  const kept = await cli(['sft', '--config', config, '--resume', '--allow-change', 'epochs'])
  expect(kept.stderr).toContain(`model: hf:org/tiny at commit ${commit.slice(0, 8)}, as when the run started.`)
  expect(kept.code).toBe(0)
  const changed = await cli([
    'sft',
    '--config',
    config,
    '--resume',
    '--allow-change',
    'model',
    '--set',
    'epochs=4',
    '--allow-change',
    'epochs',
  ])
  expect(changed.stderr).not.toContain('as when the run started')
  expect((await Run.read(output)).config.inputs!.model!['hf:org/tiny']).toBe(moved)
})

test('a recorded commit that is gone is named with what to do', async () => {
  const commit = hub.add('models/org/gone', first)
  const output = fresh('gone')
  const run = { ...options, model: 'org/gone', data: jsonl(rows), output }
  await sft({ ...run, maxSteps: 1 })
  vi.stubEnv('HF_HUB_CACHE', temporaryDirectory())
  hub.commit('models/org/gone', second)
  hub.repos.get('models/org/gone')!.commits.delete(commit)
  const resumed = sft({ ...run, resume: true })
  await expect(resumed).rejects.toThrow(/model: the model org\/gone has no revision [0-9a-f]{40}/)
  await resumed.catch(error => expect((error as { remedy: string }).remedy).toContain('--allow-change model'))
  vi.stubEnv('HF_HUB_CACHE', join(home, 'hub'))
})

test('a path that exists wins, and ids in a config stay ids', async () => {
  const folder = temporaryDirectory()
  hub.add('models/org/named', first)
  const config = join(folder, 'sft.yaml')
  const { writeFileSync, mkdirSync, cpSync } = await import('node:fs')
  writeFileSync(config, `{ model: org/named, data: rows.jsonl, output: run, chatTemplate: none, device: cpu }`)
  writeFileSync(join(folder, 'rows.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const byId = await cli(['sft', '--config', config, '--dry-run'])
  expect(byId.stdout).toContain('hf:org/named')
  expect(byId.stderr).toMatch(/Fetching org\/named at commit [0-9a-f]{8} from 127\.0\.0\.1:\d+: \d+ files, [\d.]+ MB/)
  mkdirSync(join(folder, 'org'))
  cpSync(await modelDirectory(1), join(folder, 'org/named'), { recursive: true })
  expect((await cli(['sft', '--config', config, '--dry-run'])).stdout).toContain(join(folder, 'org/named'))
  expect((await cli(['sft', '--config', config, '--dry-run', '--set', 'model=hf:org/named'])).stdout).toContain(
    'hf:org/named',
  )
})

test('missing models are named by their option and their origin', async () => {
  const config = written(
    'missing.json',
    JSON.stringify({ model: 'org/nothing', data: jsonl(rows), output: fresh('x') }),
  )
  const { code, stderr } = await cli(['sft', '--config', config])
  expect(code).toBe(1)
  expect(stderr).toMatch(/missing\.json: model: 127\.0\.0\.1:\d+ has no model org\/nothing, or it is private/)
  expect(stderr).toContain('If org/nothing is meant to be a path: nothing is there.')
})

test('generate, score, serve and eval take an id', async () => {
  hub.add('models/org/any', first)
  const texts: (string | undefined)[] = []
  const samples = generate({ model: 'org/any', data: [{ prompt: 'a' }], maxNewTokens: 4, device: 'cpu' })
  for await (const { text } of samples) texts.push(text)
  expect(texts.length).toBe(1)
  hub.add('datasets/org/asked', { 'data/test.jsonl': jsonText([{ question: 'a' }, { question: 'b' }]) })
  const asked = { model: 'org/any', data: 'org/asked:test', maxNewTokens: 2, device: 'cpu' } as const
  for await (const { text } of generate(asked)) texts.push(text)
  expect(texts.length).toBe(3)
  const server = await serve({ model: 'org/any', port: 0, device: 'cpu' })
  expect(server.name).toBe('org/any')
  await server.close()
  const input = jsonl([{ prompt: 'a', response: 'b' }])
  const scored = await cli([
    'score',
    '--model',
    'org/any',
    '--input',
    input,
    '--output',
    fresh('scores.jsonl'),
    '--device',
    'cpu',
  ])
  expect(scored.code).toBe(0)
  const data = jsonl(rows)
  const args = [
    '--model',
    'org/any',
    '--reference',
    'hf:org/any',
    '--data',
    data,
    '--limit',
    '2',
    '--max-new-tokens',
    '2',
  ]
  const measured = await cli(['eval', ...args, '--device', 'cpu', '--chat-template', 'none'])
  expect(measured.stdout).toContain('perplexity')
})

test('download prints the directory', async () => {
  const commit = hub.add('models/org/fetched', first)
  const { code, stdout } = await cli(['download', 'org/fetched'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(home, 'hub/models--org--fetched/snapshots', commit)}\n` })
  expect((await cli(['download', 'org/fetched@main'])).stdout).toBe(stdout)
  expect((await cli(['download', 'org/fetched', '--revision', commit])).stdout).toBe(stdout)
  expect((await cli(['download', 'org/fetched@main', '--revision', 'v1'])).stderr).toContain('give only one of them')
  expect((await cli(['download', 'a/b/c'])).stderr).toContain('expected hf:org/name')
  const rowFile = 'data/train-00000-of-00001.parquet'
  const data = hub.add('datasets/org/rows', { 'README.md': '# Rows', [rowFile]: Buffer.from('PAR1'), 'script.py': 'x' })
  const fetched = await download('org/rows:train', { kind: 'data' })
  expect(fetched).toEqual({ directory: join(home, 'hub/datasets--org--rows/snapshots', data), commit: data })
  const model = await LocalModel.load((await download('org/fetched')).directory, { role: 'language', device: 'cpu' })
  model.dispose()
})

test('a reward file names a reward model by id', async () => {
  const reward = filesOf(await modelDirectory(3))
  const commit = hub.add('models/org/judge', { ...reward })
  const { locateRewardModels } = await import('../../src/reward/index.js')
  const file = written('rewards.yaml', 'sources: { quality: { type: model, path: org/judge } }\n')
  const { signal } = new AbortController()
  expect(await locateRewardModels(file, { signal })).toEqual({ 'hf:org/judge': commit })
})

test('a data set by id, with its config and split, is read and recorded', async () => {
  const train = rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const card = '---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train.jsonl\n---\n'
  const commit = hub.add('datasets/org/sums', { 'README.md': card, 'main/train.jsonl': train })
  hub.add('models/org/learner', first)
  const output = fresh('by-data-id')
  const { step } = await sft({ ...options, model: 'org/learner', data: 'org/sums:main/train', output })
  expect(step).toBe(3)
  expect((await Run.read(output)).config.inputs!.dataset).toEqual({ 'hf:org/sums': commit })
})
