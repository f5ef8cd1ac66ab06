/**
 * The cache is shared with the real `huggingface_hub` of Python, both ways. Needs a Python that has it: WHETSTONE_CLIENTS_PYTHON
 * (default python3).
 */
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type HubSettings, snapshot } from '../../src/hub/index.js'
import { silentReport } from '../../src/progress/index.js'
import { HubServer } from '../support/doubles/hub-server.js'
import { temporaryDirectory } from '../support/files.js'

const python = process.env.WHETSTONE_CLIENTS_PYTHON ?? 'python3'
const has = (module: string): boolean => spawnSync(python, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0
const isHere = has('huggingface_hub')
if (!isHere) console.log(`${python} has no huggingface_hub: the cache was not compared with Python's.`)

const files = {
  'config.json': '{"model_type": "llama"}',
  'tokenizer.json': '{}',
  'additional_chat_templates/tools.jinja': 'x',
  'model.safetensors': randomBytes(300_000),
  'pytorch_model.bin': randomBytes(1000),
}

async function inPython(hub: HubServer, home: string, code: string, env: Record<string, string> = {}) {
  const { stdout } = await promisify(execFile)(python, ['-c', `import json\n${code}`], {
    env: { ...process.env, ...hub.env(home), HF_HUB_DISABLE_PROGRESS_BARS: '1', HF_HUB_DISABLE_XET: '1', ...env },
  })
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

const ours = (hub: HubServer, home: string, network: HubSettings['network'] = 'online') => ({
  wanted: 'model' as const,
  report: silentReport,
  signal: new AbortController().signal,
  settings: { endpoint: hub.endpoint, cache: join(home, 'hub'), token: undefined, network },
})

describe.skipIf(!isHere)('the cache of huggingface_hub', () => {
  test('Python finds what we fetched, without a network', async () => {
    const hub = await HubServer.start()
    const home = temporaryDirectory()
    const commit = hub.add('models/org/shared', files)
    const { directory } = await snapshot({ type: 'model', id: 'org/shared' }, ours(hub, home))
    const found = await inPython(
      hub,
      home,
      `from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache
cache = scan_cache_dir()
print(json.dumps({
  'snapshot': snapshot_download('org/shared'),
  'config': try_to_load_from_cache('org/shared', 'config.json'),
  'nested': hf_hub_download('org/shared', 'additional_chat_templates/tools.jinja'),
  'weights': hf_hub_download('org/shared', 'model.safetensors'),
  'warnings': [str(w) for w in cache.warnings],
  'repos': [[r.repo_id, r.repo_type, [[v.commit_hash, sorted(v.refs)] for v in r.revisions]] for r in cache.repos],
}))`,
      { HF_HUB_OFFLINE: '1' },
    )
    expect(found).toEqual({
      snapshot: directory,
      config: join(directory, 'config.json'),
      nested: join(directory, 'additional_chat_templates/tools.jinja'),
      weights: join(directory, 'model.safetensors'),
      warnings: [],
      repos: [['org/shared', 'model', [[commit, ['main']]]]],
    })
    // Online, it fetches what we left out, and nothing again.
    hub.asked.length = 0
    await inPython(
      hub,
      home,
      `from huggingface_hub import snapshot_download\nprint(json.dumps(snapshot_download('org/shared')))`,
    )
    const fetched = hub.asked.filter(({ method, host }) => method === 'GET' && host === 'cdn').map(({ path }) => path)
    expect(fetched.length).toBe(1)
    expect(fetched[0]).toContain('pytorch_model.bin')
  })

  test('we find what Python fetched, and fetch nothing again', async () => {
    const hub = await HubServer.start()
    const home = temporaryDirectory()
    const commit = hub.add('models/org/theirs', files)
    hub.add('datasets/org/rows', { 'README.md': 'x', 'data/train-00000-of-00001.parquet': randomBytes(1000) })
    const at = await inPython(
      hub,
      home,
      `from huggingface_hub import snapshot_download
snapshot_download('org/rows', repo_type='dataset')
print(json.dumps(snapshot_download('org/theirs', ignore_patterns=['*.bin'])))`,
    )
    expect(await snapshot({ type: 'model', id: 'org/theirs' }, ours(hub, home, 'offline'))).toEqual({
      directory: at,
      commit,
    })
    const data = { ...ours(hub, home, 'offline'), wanted: 'data' as const }
    expect((await snapshot({ type: 'dataset', id: 'org/rows' }, data)).directory).toContain('datasets--org--rows')
    hub.asked.length = 0
    expect((await snapshot({ type: 'model', id: 'org/theirs' }, ours(hub, home))).directory).toBe(at)
    expect(hub.asked.some(({ path }) => path.includes('/resolve/'))).toBe(false)
  })

  test.skipIf(!isHere || !has('transformers'))('transformers finds the files by id, offline', async () => {
    const hub = await HubServer.start()
    const home = temporaryDirectory()
    hub.add('models/org/named', files)
    const { directory } = await snapshot({ type: 'model', id: 'org/named' }, ours(hub, home))
    const found = await inPython(
      hub,
      home,
      `from transformers import AutoConfig
from transformers.utils import cached_file
print(json.dumps([cached_file('org/named', 'model.safetensors'), AutoConfig.from_pretrained('org/named').model_type]))`,
      { HF_HUB_OFFLINE: '1' },
    )
    expect(found).toEqual([join(directory, 'model.safetensors'), 'llama'])
  })
})
