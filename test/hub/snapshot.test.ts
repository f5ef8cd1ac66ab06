import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type HubSettings, type SnapshotOptions, snapshot } from '../../src/hub/index.js'
import { plainReport } from '../../src/progress/index.js'
import { etagOf } from '../support/doubles/hub-answers.js'
import { HubServer } from '../support/doubles/hub-server.js'
import { temporaryDirectory } from '../support/files.js'

const hub = await HubServer.start()
const weights = randomBytes(400_000)
const files = {
  'config.json': '{"model_type": "llama"}',
  'tokenizer.json': '{}',
  'README.md': '# A model',
  'additional_chat_templates/tools.jinja': 'x',
  'model.safetensors': weights,
  'pytorch_model.bin': randomBytes(100),
  'onnx/model.onnx': 'onnx',
  'training_args.bin': 'pickle',
}

interface Lines {
  readonly lines: string[]
  readonly options: SnapshotOptions
}

function asking(settings: Partial<HubSettings> = {}, more: Partial<SnapshotOptions> = {}): Lines {
  const lines: string[] = []
  const cache = settings.cache ?? temporaryDirectory()
  return {
    lines,
    options: {
      wanted: 'model',
      report: plainReport(text => lines.push(text)),
      signal: new AbortController().signal,
      settings: { endpoint: hub.endpoint, cache, token: undefined, network: 'online', ...settings },
      ...more,
    },
  }
}

const model = (id: string) => ({ type: 'model', id }) as const
const reset = () => {
  hub.asked.length = 0
}

test('a model is fetched into the layout of the cache: blobs, links of a commit, the commit of a branch', async () => {
  const commit = hub.add('models/org/plain', files)
  const { lines, options } = asking()
  const found = await snapshot(model('org/plain'), options)
  const root = join(options.settings!.cache, 'models--org--plain')
  expect(found).toEqual({ commit, directory: join(root, 'snapshots', commit) })
  expect(readFileSync(join(root, 'refs/main'), 'utf8')).toBe(commit)
  expect(readdirSync(found.directory, { recursive: true }).sort()).toEqual([
    'README.md',
    'additional_chat_templates',
    'additional_chat_templates/tools.jinja',
    'config.json',
    'model.safetensors',
    'tokenizer.json',
  ])
  const link = join(found.directory, 'model.safetensors')
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readlinkSync(link)).toBe(`../../blobs/${etagOf('model.safetensors', weights)}`)
  expect(readlinkSync(join(found.directory, 'additional_chat_templates/tools.jinja'))).toMatch(
    /^\.\.\/\.\.\/\.\.\/blobs\//,
  )
  expect(readFileSync(link).equals(weights)).toBe(true)
  // Only what is needed, and said before.
  expect(hub.asked.some(({ path }) => /\.bin|onnx/.test(path))).toBe(false)
  expect(lines[0]).toMatch(
    /^Fetching org\/plain at commit [0-9a-f]{8} from 127\.0\.0\.1:\d+: 5 files, 0\.4 MB, into .*models--org--plain\n$/,
  )
})

test('what is there is not fetched again, and a commit needs no network', async () => {
  const commit = hub.add('models/org/again', files)
  const { lines, options } = asking()
  await snapshot(model('org/again'), options)
  reset()
  lines.length = 0
  await snapshot(model('org/again'), options)
  expect(lines).toEqual([])
  expect(hub.asked.some(({ path }) => path.includes('/resolve/'))).toBe(false)
  reset()
  await snapshot(model('org/again'), { ...options, revision: commit })
  expect(hub.asked).toEqual([])
  // A new commit brings what has changed alone.
  hub.commit('models/org/again', { ...files, 'config.json': '{"model_type": "qwen2"}' })
  const newer = await snapshot(model('org/again'), options)
  expect(readFileSync(join(newer.directory, 'config.json'), 'utf8')).toContain('qwen2')
  expect(lines[0]).toContain('1 of 5 files')
})

test('a connection that breaks again and again is continued where it broke', async () => {
  hub.add('models/org/broken', files)
  const { options } = asking()
  reset()
  hub.cut = { bytes: 90_000, times: 3 }
  const { directory } = await snapshot(model('org/broken'), options)
  hub.cut = undefined
  expect(readFileSync(join(directory, 'model.safetensors')).equals(weights)).toBe(true)
  const ranges = hub.asked.filter(({ host }) => host === 'cdn').map(({ range }) => range)
  expect(ranges.length).toBe(4)
  expect(ranges[0]).toBeUndefined()
  expect(ranges.slice(1).every(range => /^bytes=[1-9]\d*-$/.test(range!))).toBe(true)
})

test('a stop keeps the bytes, and the next start goes on from them', async () => {
  hub.add('models/org/stopped', files)
  const stop = new AbortController()
  const { options } = asking()
  hub.cut = { bytes: 100_000, times: 1 }
  const stopped = snapshot(model('org/stopped'), {
    ...options,
    signal: stop.signal,
    report: {
      ...options.report,
      transfer: () => ({ at: amount => amount > 90_000 && stop.abort(new Error('enough')), end() {} }),
    },
  })
  await expect(stopped).rejects.toThrow('enough')
  hub.cut = undefined
  const blobs = join(options.settings!.cache, 'models--org--stopped/blobs')
  expect(readdirSync(blobs).some(name => name.endsWith('.incomplete'))).toBe(true)
  // Nothing looks whole yet.
  expect(existsSync(join(options.settings!.cache, 'models--org--stopped/snapshots'))).toBe(false)
  reset()
  await snapshot(model('org/stopped'), options)
  expect(hub.asked.find(({ host }) => host === 'cdn')!.range).toMatch(/^bytes=[1-9]/)
  expect(readdirSync(blobs).some(name => name.includes('incomplete'))).toBe(false)
})

test('a file with a wrong checksum is not kept', async () => {
  hub.add('models/org/damaged', files)
  for (const path of ['model.safetensors', 'config.json']) {
    const { options } = asking()
    hub.damaged.add(path)
    await expect(snapshot(model('org/damaged'), options)).rejects.toThrow(
      new RegExp(`org/damaged: ${path} arrived damaged: its (SHA-256|checksum) is [0-9a-f]+, and must be [0-9a-f]+`),
    )
    hub.damaged.clear()
    const blobs = readdirSync(join(options.settings!.cache, 'models--org--damaged/blobs'))
    expect(blobs).not.toContain(etagOf(path, path === 'config.json' ? Buffer.from(files[path]!) : weights))
    expect(existsSync(join(options.settings!.cache, 'models--org--damaged/snapshots'))).toBe(false)
    await snapshot(model('org/damaged'), options)
  }
})

test('leftovers that are too long, or whole but unchecked, do no harm', async () => {
  hub.add('models/org/left', files)
  const { options } = asking()
  const blobs = join(options.settings!.cache, 'models--org--left/blobs')
  mkdirSync(blobs, { recursive: true })
  const part = join(blobs, `${etagOf('model.safetensors', weights)}.whetstone.incomplete`)
  writeFileSync(part, randomBytes(weights.length + 5))
  await snapshot(model('org/left'), options)
  rmSync(blobs, { recursive: true })
  mkdirSync(blobs)
  writeFileSync(part, weights)
  reset()
  await snapshot(model('org/left'), options)
  expect(hub.asked.filter(({ host }) => host === 'cdn')).toEqual([])
  rmSync(blobs, { recursive: true })
  mkdirSync(blobs)
  writeFileSync(part, randomBytes(weights.length))
  await expect(snapshot(model('org/left'), options)).rejects.toThrow('arrived damaged')
  const { directory } = await snapshot(model('org/left'), options)
  expect(readFileSync(join(directory, 'model.safetensors')).equals(weights)).toBe(true)
})

test('the token goes to the Hub and not to its CDN', async () => {
  hub.add('models/org/closed', files, { private: ['hf_reader'] })
  const { options } = asking({ token: 'hf_reader' })
  reset()
  await snapshot(model('org/closed'), options)
  const sent = (host: string) => new Set(hub.asked.filter(one => one.host === host).map(one => one.authorization))
  expect(sent('hub')).toEqual(new Set(['Bearer hf_reader']))
  expect(sent('cdn')).toEqual(new Set([undefined]))
})

test('gated, missing, private and misspelt repositories are told apart, with what to do', async () => {
  hub.add('models/org/gated', files, { gated: ['hf_reader'] })
  hub.add('models/org/plain2', files)
  const failing = async (id: string, token?: string, revision?: string) => {
    const { options } = asking({ token }, { revision })
    const error = await snapshot(model(id), options).then(
      () => undefined,
      caught => caught as Error & { remedy: string },
    )
    const text = `${error?.message} ${error?.remedy}`
    if (token !== undefined) expect(text).not.toContain(token)
    return text
  }
  expect(await failing('org/gated')).toMatch(
    /the model org\/gated is gated: .* Accept the terms on .*\/org\/gated, and give your token: set HF_TOKEN/,
  )
  expect(await failing('org/gated', 'hf_other')).toMatch(/is gated.*check that the token is of that account/)
  expect(await failing('org/missing')).toMatch(
    /has no model org\/missing, or it is private Check the name.*meant to be a path: nothing is there/,
  )
  expect(await failing('org/missing', 'hf_reader')).toMatch(/has no model org\/missing, or it is private/)
  expect(await failing('org/plain2', 'hf_revoked')).toMatch(/does not accept the token/)
  expect(await failing('org/plain2', undefined, 'v9')).toMatch(
    /the model org\/plain2 has no revision v9 Give a branch, a tag or a commit/,
  )
  const { options } = asking({ token: 'hf_reader' })
  expect((await snapshot(model('org/gated'), options)).commit).toMatch(/^[0-9a-f]{40}$/)
})

test('weights that are pickles alone are refused before anything is fetched', async () => {
  hub.add('models/org/pickle', { 'config.json': '{}', 'pytorch_model.bin': 'pickle' })
  hub.add('models/org/gguf', { 'README.md': '', 'x-q4_0.gguf': 'GGUF' })
  hub.add('models/org/empty', { 'README.md': '' })
  hub.add('datasets/org/script', { 'script.py': 'x' })
  const { options, lines } = asking()
  await expect(snapshot(model('org/pickle'), options)).rejects.toThrow(
    'the model org/pickle has its weights as pickles alone',
  )
  await expect(snapshot(model('org/gguf'), options)).rejects.toThrow('has GGUF files and no safetensors')
  await expect(snapshot(model('org/empty'), options)).rejects.toThrow('has no model.safetensors')
  await expect(snapshot({ type: 'dataset', id: 'org/script' }, { ...options, wanted: 'data' })).rejects.toThrow(
    'the data set org/script has a loading script and no data files',
  )
  expect(lines).toEqual([])
})

test('a busy server is asked again, a server that is away is named', async () => {
  hub.add('models/org/busy', files)
  const { options } = asking()
  hub.busy.push({ status: 503, headers: { 'retry-after': '0' } }, { status: 429, headers: { 'retry-after': '0' } })
  await snapshot(model('org/busy'), options)
  const away = asking({ ...options.settings!, endpoint: 'http://127.0.0.1:1' })
  // What is in the cache does instead, and the run says so.
  expect((await snapshot(model('org/busy'), away.options)).directory).toContain('org--busy')
  expect(away.lines[0]).toMatch(
    /127\.0\.0\.1:1 cannot be reached for org\/busy \(.*\): org\/busy is used as the cache has it, at commit/,
  )
  await expect(snapshot(model('org/other'), away.options)).rejects.toThrow(
    /127\.0\.0\.1:1 cannot be reached for org\/other/,
  )
})

test('offline, the cache is all there is', async () => {
  hub.add('models/org/offline', files)
  const { options } = asking()
  const found = await snapshot(model('org/offline'), options)
  const offline = { ...options, settings: { ...options.settings!, network: 'offline' } as const }
  reset()
  expect(await snapshot(model('org/offline'), offline)).toEqual(found)
  await expect(snapshot(model('org/never'), offline)).rejects.toThrow(
    `the model org/never is not in ${options.settings!.cache}, and HF_HUB_OFFLINE is set`,
  )
  // A snapshot that lacks a content is no snapshot.
  rmSync(join(options.settings!.cache, 'models--org--offline/blobs', etagOf('model.safetensors', weights)))
  await expect(snapshot(model('org/offline'), offline)).rejects.toThrow('is not in')
  expect(hub.asked).toEqual([])
})

test('a list in pages, and shards', async () => {
  const shards = Object.fromEntries(
    [1, 2, 3].map(i => [`model-0000${i}-of-00003.safetensors`, randomBytes(2000)] as const),
  )
  hub.add('models/org/shards', {
    ...files,
    ...shards,
    'model.safetensors.index.json': '{}',
    'consolidated.safetensors': weights,
  })
  const { options } = asking()
  const { directory } = await snapshot(model('org/shards'), options)
  expect(readdirSync(directory).filter(name => name.includes('safetensors'))).toEqual([
    ...Object.keys(shards),
    'model.safetensors',
    'model.safetensors.index.json',
  ])
  rmSync(join(directory, 'model-00002-of-00003.safetensors'))
  const offline = { ...options, settings: { ...options.settings!, network: 'offline' } as const }
  await expect(snapshot(model('org/shards'), offline)).rejects.toThrow('is not in')
})

test('a disk without room is found before the first byte', async () => {
  const much = new Array(3).fill(0).map((_, i) => [`model-0000${i}-of-00003.safetensors`, weights] as const)
  hub.add('models/org/large', { ...files, ...Object.fromEntries(much) })
  const { options } = asking()
  const real = await import('node:fs/promises').then(({ statfs }) => statfs(options.settings!.cache))
  // The size that the server tells is all that is known before.
  const entry = hub.repos.get('models/org/large')!.commits.values().next().value!
  const huge = Buffer.from('x')
  Object.defineProperty(huge, 'length', { value: real.bavail * real.bsize * 2 })
  entry.set('model.safetensors', huge)
  reset()
  await expect(snapshot(model('org/large'), options)).rejects.toThrow(
    /org\/large needs [\d,.]+ [GT]B, and .* has [\d,.]+ [GT]B left/,
  )
  expect(hub.asked.some(({ path }) => path.includes('/resolve/'))).toBe(false)
})

test('names that lead out of the cache are refused', async () => {
  hub.add('models/org/evil', { ...files, '../../evil.safetensors': 'x' })
  await expect(snapshot(model('org/evil'), asking().options)).rejects.toThrow(
    'has a file that cannot be kept: "../../evil.safetensors"',
  )
})

test('two at once fetch a file once', async () => {
  hub.add('models/org/twice', files)
  const { options, lines } = asking()
  reset()
  hub.speed = 2e6
  await Promise.all([snapshot(model('org/twice'), options), snapshot(model('org/twice'), options)])
  hub.speed = Number.POSITIVE_INFINITY
  expect(hub.asked.filter(({ host }) => host === 'cdn').length).toBe(1)
  expect(lines.some(line => line.startsWith('Another process fetches model.safetensors'))).toBe(true)
})
