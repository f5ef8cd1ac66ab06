/** `whetstone push` against a server that speaks the Hub's protocol: runs, models, adapters, cards and tokens. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { sft } from '../../src/index.js'
import { cli } from '../support/cli.js'
import { HubServer } from '../support/doubles/hub-server.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const hub = await HubServer.start()
const home = temporaryDirectory()
const source = await modelDirectory(1)
const data = jsonl(Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:`, completion: ' aeiou' })))
const options = { ...{ chatTemplate: 'none', device: 'cpu', batchSize: 2 }, model: source, data } as const
const run = fresh('trained')
const adapters = fresh('adapted')

beforeAll(async () => {
  for (const [name, value] of Object.entries(hub.env(home))) vi.stubEnv(name, value)
  await sft({ ...options, output: run })
  await sft({ ...options, output: adapters, lora: { rank: 2 }, keep: 'adapters' })
})
beforeEach(() => vi.stubEnv('HF_TOKEN', 'hf_writer'))
afterAll(() => vi.unstubAllEnvs())

const filesOf = (id: string) => {
  const { commits, refs } = hub.repos.get(`models/${id}`)!
  return commits.get(refs.get('main')!)!
}
const textOf = (id: string, name: string): string => String(filesOf(id).get(name))
const frontOf = (text: string) => parse(/^---\n(.*?)\n---/s.exec(text)![1]!) as Record<string, unknown>

test('a run: its best model, with a card that has its figures and curves', async () => {
  const { code, stdout, stderr } = await cli(['push', run, 'me/trained', '--private'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${hub.endpoint}/me/trained\n` })
  expect(stderr).toMatch(/Pushing .*best_model to me\/trained \(model, private\) on 127\.0\.0\.1:\d+: \d+ files/)
  const weights = filesOf('me/trained').get('model.safetensors') as Buffer
  expect(weights.equals(readFileSync(join(run, 'best_model/model.safetensors')))).toBe(true)
  const card = textOf('me/trained', 'README.md')
  expect(frontOf(card)).toMatchObject({ library_name: 'transformers', tags: ['whetstone', 'sft'] })
  for (const part of ['# me/trained\n', 'from_pretrained("me/trained")', '## Figures', '| loss', 'curves.png'])
    expect(card).toContain(part)
  expect(filesOf('me/trained').has('curves.png')).toBe(true)
  // Nothing was written into the run.
  expect(() => readFileSync(join(run, 'best_model/README.md'))).toThrow()
  for (const [name, content] of filesOf('me/trained'))
    if (/\.(md|json)$/.test(name)) expect(String(content), name).not.toContain(home)
  expect(card).not.toContain(source)
})

test('a card of your own goes up as it is', async () => {
  const directory = fresh('own')
  mkdirSync(directory)
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
    writeFileSync(join(directory, name), readFileSync(join(source, name)))
  writeFileSync(join(directory, 'README.md'), '# Mine\n')
  expect((await cli(['push', directory, 'me/own'])).code).toBe(0)
  expect(textOf('me/own', 'README.md')).toBe('# Mine\n')
  rmSync(join(directory, 'README.md'))
  expect((await cli(['push', directory, 'me/plain'])).code).toBe(0)
  expect(textOf('me/plain', 'README.md')).toContain('# me/plain\n')
})

test('a run that keeps adapters: the adapter, whose base is named without a path of this machine', async () => {
  const { code, stderr } = await cli(['push', adapters, 'me/adapter'])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect([...filesOf('me/adapter').keys()].sort()).toEqual(
    expect.arrayContaining(['README.md', 'adapter_config.json', 'adapter_model.safetensors']),
  )
  expect(frontOf(textOf('me/adapter', 'README.md'))).toMatchObject({ library_name: 'peft' })
  const { base_model_name_or_path: base } = JSON.parse(textOf('me/adapter', 'adapter_config.json')) as Record<
    string,
    string
  >
  expect(source.endsWith(`/${base}`)).toBe(true)
  expect(stderr).toContain(
    `The base model of the adapter is ${source}, which others do not have. They will read: ${base}.`,
  )
  // And the directory of the adapter by itself, again.
  const again = await cli(['push', join(adapters, 'best_adapter'), 'me/adapter'])
  expect(again.stderr).toContain('me/adapter (model, exists)')
})

test('without a token, with a wrong one, and with one that may only read: what to do, and no token in the output', async () => {
  for (const [token, said] of [
    ['', 'an upload needs a token'],
    ['hf_reader_of_secrets', 'does not let this token write to the model me/refused'],
    ['hf_revoked', 'does not let this token write to the model me/refused'],
  ] as const) {
    vi.stubEnv('HF_TOKEN', token)
    const { code, output } = await cli(['push', run, 'me/refused'])
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(said) })
    expect(output).toContain('HF_TOKEN')
    if (token !== '') expect(output).not.toContain(token)
  }
  expect(hub.repos.has('models/me/refused')).toBe(false)
})

test('a key in a file stops the upload, and is not shown', async () => {
  const key = `hf_${'a1B2'.repeat(8)}`
  const directory = fresh('leaky')
  mkdirSync(directory)
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
    writeFileSync(join(directory, name), readFileSync(join(source, name)))
  writeFileSync(join(directory, 'README.md'), `my token is ${key}`)
  const { code, output } = await cli(['push', directory, 'me/leaky'])
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('README.md contains a token of the Hub'),
  })
  expect(output).not.toContain(key)
  expect(hub.repos.has('models/me/leaky')).toBe(false)
})

test('of a run without a best model the last one goes up; checkpoints and logs stay', async () => {
  const directory = fresh('early')
  const files = {
    'config.json': '{"schemaVersion":1,"command":"sft"}',
    'checkpoints/10/model/weights.safetensors': 'state',
    'logs/metrics.jsonl': '{}',
    'final_model/model.safetensors': 'last',
    'final_model/config.json': '{}',
    'final_model/README.md': '# Last',
  }
  const write = (all: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(join(directory, path, '..'), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
  }
  write(files)
  expect((await cli(['push', directory, 'me/run'])).code).toBe(0)
  expect(textOf('me/run', 'model.safetensors')).toBe('last')
  expect([...filesOf('me/run').keys()].sort()).toEqual([
    '.gitattributes',
    'README.md',
    'config.json',
    'model.safetensors',
  ])
  write({ 'best_model/model.safetensors': 'best', 'best_model/config.json': '{}', 'best_model/README.md': '# Best' })
  const { stderr } = await cli(['push', directory, 'me/run'])
  expect(textOf('me/run', 'model.safetensors')).toBe('best')
  expect(stderr).toContain('best_model to me/run (model, exists)')
})
