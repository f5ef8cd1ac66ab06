/** What `npm pack` makes is all it takes: it runs in another directory, with the packages that its manifest names and no others. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { compiled, repository } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const manifest: { version: string; dependencies: Record<string, string>; exports: Record<string, unknown> } =
  JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const folder = temporaryDirectory()
const app = join(folder, 'app')
const installed = join(app, 'node_modules/whetstone')

beforeAll(() => {
  execFileSync('npm', ['pack', '--pack-destination', folder, '--offline'], { cwd: compiled(), stdio: 'pipe' })

  mkdirSync(installed, { recursive: true })
  const archive = join(folder, `whetstone-${manifest.version}.tgz`)
  execFileSync('tar', ['xzf', archive, '-C', installed, '--strip-components=1'])
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(app, 'node_modules', name)), { recursive: true })
    symlinkSync(join(repository, 'node_modules', name), join(app, 'node_modules', name))
  }
  // The bridge is compiled by the install script, against the machine's libtorch.
  symlinkSync(join(repository, 'build'), join(installed, 'build'))
  mkdirSync(join(app, 'node_modules/.bin'))
  symlinkSync('../whetstone/install/whetstone.mjs', join(app, 'node_modules/.bin/whetstone'))
  writeFileSync(join(app, 'package.json'), '{"type":"module"}')
}, 240_000)

const whetstone = (...args: string[]) =>
  spawnSync(process.execPath, [join(app, 'node_modules/.bin/whetstone'), ...args], { cwd: app, encoding: 'utf8' })

test('it holds what runs and what one reads, and nothing else', () => {
  expect(readdirSync(installed).sort()).toEqual(
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'build', 'dist', 'docs', 'install', 'native', 'package.json'].sort(),
  )
  const sources = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  // CUDA sources are compiled at run time, and are beside the code that does it.
  for (const name of sources.filter(one => /\.cuh?$/.test(one)))
    expect(existsSync(join(installed, 'dist', name))).toBe(true)
})

test('--help and --version', () => {
  const { status, stdout, stderr } = whetstone('--help')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('Usage: whetstone <verb>')
  expect(whetstone('--version').stdout).toBe(`${manifest.version}\n`)
})

test('a tokenizer, a model, and its log-probabilities', () => {
  writeFileSync(join(app, 'rows.jsonl'), '{"prompt":"Whetstone","response":" sharpens"}\n'.repeat(8))
  const shape = '--hidden 16 --intermediate 32 --layers 1 --heads 2 --context 64'.split(' ')
  const commands = [
    ['tokenizer', 'train', '--input', 'rows.jsonl', '--vocab-size', '300', '--out', 'tok'],
    ['init', '--family', 'qwen2', ...shape, '--tokenizer', 'tok', '--out', 'model'],
    ['score', '--model', 'model', '--input', 'rows.jsonl', '--output', 'scores.jsonl'],
  ]
  for (const args of commands) {
    const { status, stderr } = whetstone(...args)
    expect(status, stderr).toBe(0)
  }
  expect(readFileSync(join(app, 'scores.jsonl'), 'utf8').trim().split('\n')).toHaveLength(8)
})

test('every room can be imported by its name', () => {
  const rooms = Object.keys(manifest.exports).filter(name => name !== './package.json')
  const code = rooms.map(name => `await import('whetstone${name.slice(1)}')`).join('\n')
  writeFileSync(join(app, 'rooms.js'), code)
  const { status, stderr } = spawnSync(process.execPath, ['rooms.js'], { cwd: app, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
})
