import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type HubSettings, pushDirectory, snapshot } from '../../src/hub/index.js'
import { plainReport } from '../../src/progress/index.js'
import { HubServer } from '../support/doubles/hub-server.js'
import { temporaryDirectory } from '../support/files.js'

const hub = await HubServer.start()

function pushing(settings: Partial<HubSettings> = {}) {
  const lines: string[] = []
  const report = plainReport(text => lines.push(text))
  const { signal } = new AbortController()
  const cache = temporaryDirectory()
  const all = { endpoint: hub.endpoint, cache, token: 'hf_writer', network: 'online', ...settings } as const
  return { lines, options: { report, signal, settings: all } }
}

const model = (id: string) => ({ type: 'model', id }) as const
const filesOf = (name: string) => {
  const { commits, refs } = hub.repos.get(name)!
  return commits.get(refs.get('main')!)!
}

function directoryOf(files: Record<string, string>): string {
  const directory = temporaryDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, '..'), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

const modelFiles = {
  'config.json': '{"model_type":"llama"}',
  'tokenizer.json': '{}',
  'README.md': '# My model',
  'model.safetensors': 'weights of the model',
}

test('a model goes up as one commit into a new repository, and comes back the same', async () => {
  const directory = directoryOf({
    ...modelFiles,
    'additional_chat_templates/tools.jinja': 'x',
    '.env': 'KEY=1',
    'optimizer.pt': 'x',
  })
  const { options, lines } = pushing()
  hub.asked.length = 0
  const pushed = await pushDirectory(directory, model('me/new'), { ...options, visibility: 'private' })
  expect(pushed.url).toBe(`${hub.endpoint}/me/new`)
  expect(hub.repos.get('models/me/new')!.private).toEqual(hub.writers)
  expect([...filesOf('models/me/new').keys()].sort()).toEqual(
    [...Object.keys(modelFiles), '.gitattributes', 'additional_chat_templates/tools.jinja'].sort(),
  )
  expect(lines[0]).toMatch(/^Pushing .* to me\/new \(model, private\) on 127\.0\.0\.1:\d+: 5 files, 55 B\n$/)
  expect(lines).toContain('  stays here: .env, optimizer.pt\n')
  // The storage has addresses of its own, and gets no token.
  const uploads = hub.asked.filter(({ host }) => host === 'cdn')
  expect(uploads.map(({ method, authorization }) => [method, authorization])).toEqual([['PUT', undefined]])
  const back = await snapshot(model('me/new'), { ...options, wanted: 'model' })
  expect(back.commit).toBe(pushed.commit)
  expect(readFileSync(join(back.directory, 'model.safetensors'), 'utf8')).toBe('weights of the model')
})

test('a vision-language model goes up and comes back with every file of its processors', async () => {
  const processors = {
    'preprocessor_config.json': '{}',
    'video_preprocessor_config.json': '{"fps":2}',
    'processor_config.json': '{}',
  }
  const { options } = pushing()
  await pushDirectory(directoryOf({ ...modelFiles, ...processors }), model('me/vision'), options)
  const { directory } = await snapshot(model('me/vision'), { ...options, wanted: 'model' })
  for (const [name, text] of Object.entries(processors)) expect(readFileSync(join(directory, name), 'utf8')).toBe(text)
})

test('files that were made for the upload go up in place of those of the same names', async () => {
  const directory = directoryOf({ ...modelFiles, 'adapter_config.json': 'old' })
  const made = directoryOf({ 'adapter_config.json': 'new', 'curves.png': 'PNG' })
  await pushDirectory(directory, model('me/made'), { ...pushing().options, made })
  const files = filesOf('models/me/made')
  expect(String(files.get('adapter_config.json'))).toBe('new')
  expect(String(files.get('README.md'))).toBe('# My model')
  expect(files.has('curves.png')).toBe(true)
})

test('shards of the weights before are removed', async () => {
  const shards = {
    'model-00001-of-00002.safetensors': 'a',
    'model-00002-of-00002.safetensors': 'b',
    'model.safetensors.index.json': '{}',
  }
  await pushDirectory(directoryOf({ 'config.json': '{}', ...shards }), model('me/shards'), pushing().options)
  const { options, lines } = pushing()
  await pushDirectory(directoryOf(modelFiles), model('me/shards'), options)
  expect([...filesOf('models/me/shards').keys()].filter(path => path.includes('safetensors'))).toEqual([
    'model.safetensors',
  ])
  expect(lines.join('')).toContain(
    'removed there, because the new weights replace them: model-00001-of-00002.safetensors, model-00002-of-00002.safetensors, model.safetensors.index.json',
  )
})

test('a data set goes to a repository of data sets', async () => {
  const directory = directoryOf({ 'README.md': '# Rows', 'data/train.jsonl': '{"prompt":"a"}\n', 'notes.txt': 'x' })
  const { url } = await pushDirectory(directory, { type: 'dataset', id: 'me/rows' }, pushing().options)
  expect(url).toBe(`${hub.endpoint}/datasets/me/rows`)
  expect([...filesOf('datasets/me/rows').keys()].sort()).toEqual(['.gitattributes', 'README.md', 'data/train.jsonl'])
})

test('what must not go up is refused, and nothing is sent', async () => {
  hub.asked.length = 0
  const refused = (directory: string, settings: Partial<HubSettings> = {}, id = 'me/refused') =>
    expect(pushDirectory(directory, model(id), pushing(settings).options)).rejects
  const leaky = directoryOf({ ...modelFiles, 'README.md': `token: hf_${'a1B2'.repeat(8)}` })
  await refused(leaky).toThrow('README.md contains a token of the Hub: nothing was uploaded')
  await refused(directoryOf({ 'config.json': '{}' })).toThrow('has no model: expected safetensors or GGUF files')
  await refused('/nowhere').toThrow('/nowhere: there is no such directory')
  await refused(directoryOf(modelFiles), { token: undefined }).toThrow('an upload needs a token')
  await refused(directoryOf(modelFiles), { network: 'offline' }).toThrow('HF_HUB_OFFLINE is set')
  await refused(directoryOf(modelFiles), {}, 'refused').toThrow('refused: expected org/name')
  expect(hub.asked).toEqual([])
  await refused(directoryOf(modelFiles), { token: 'hf_reader' }).toThrow(
    'does not let this token write to the model me/refused',
  )
  expect(hub.repos.has('models/me/refused')).toBe(false)
})
