import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { temporaryDirectory } from '../support/files.js'
import {
  addCompiler,
  addPip,
  compiledSetup,
  libtorchFiles,
  makeZip,
  type Programs,
  programs,
  torchWheel,
  wheelParts,
  writeTree,
} from '../support/setup.js'

let root: string
let path: Programs
let cache: string

beforeAll(() => {
  root = compiledSetup()
})

beforeEach(() => {
  path = programs()
  cache = join(temporaryDirectory(), 'cache')
})

function startSetup(more: NodeJS.ProcessEnv = {}) {
  const script = `
    import { run } from ${JSON.stringify(join(root, 'dist/cli/setup.js'))}
    process.exitCode = await run([])`
  const env = {
    PATH: path.path,
    WHETSTONE_CACHE: cache,
    WHETSTONE_CUDA: '0',
    WHETSTONE_ARCHIVE_URL: 'http://127.0.0.1:1',
    ...more,
  }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const ended = new Promise<{ code: number | null; output: string }>(resolve =>
    child.on('close', code => resolve({ code, output })),
  )
  return { child, ended }
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400 && !condition(); tries++) await sleep(20)
  expect(condition()).toBe(true)
}

function wheelFolder(): string {
  const folder = temporaryDirectory()
  writeFileSync(join(folder, 'torch-2.13.0.whl'), makeZip(torchWheel()))
  for (const name of ['nvidia_cuda_runtime-13', 'nvidia_cuda_cupti-13'])
    writeFileSync(join(folder, `${name}.whl`), makeZip(wheelParts(name, { [`nvidia/cu13/lib/${name}.so`]: name })))
  return folder
}

test('Ctrl-C while pip downloads, and while the compiler runs: 130, nothing left, nothing left running', async () => {
  const beat = join(temporaryDirectory(), 'beat')
  const hang = `setInterval(() => fs.appendFileSync(${JSON.stringify(beat)}, '.'), 20); return`
  addCompiler(path)
  path.add('pip3', `if (args[0] === '--version') process.exit(0); void (() => { ${hang} })()`)
  const downloading = startSetup()
  await until(() => existsSync(beat))
  downloading.child.kill('SIGINT')
  expect(await downloading.ended).toMatchObject({ code: 130, output: expect.stringContaining('interrupted') })
  expect(readdirSync(cache)).toEqual([])

  addCompiler(path, { compile: hang })
  const LIBTORCH = writeTree(temporaryDirectory(), libtorchFiles())
  const compiling = startSetup({ LIBTORCH })
  await until(() => path.calls().some(call => call.includes(' -c ')))
  await sleep(100)
  compiling.child.kill('SIGINT')
  expect((await compiling.ended).code).toBe(130)
  expect(existsSync(join(root, 'build'))).toBe(false)

  writeFileSync(beat, '')
  await sleep(100)
  expect(statSync(beat).size).toBe(0)
})

test('two at once: one fetches, the other waits and uses the result', async () => {
  addCompiler(path)
  addPip(path, wheelFolder(), { delayMs: 300 })
  const ends = await Promise.all([startSetup().ended, startSetup().ended])
  for (const { code, output } of ends) expect(code, output).toBe(0)
  expect(path.calls().filter(call => /download .*torch==/.test(call))).toHaveLength(1)
  expect(ends.map(({ output }) => output).join('')).toMatch(/another setup fetched it while this one waited/)
  expect(readdirSync(cache)).toEqual(['libtorch-2.13.0-cpu-linux-x64'])
  expect(readdirSync(join(root, 'build')).sort()).toEqual(['bridge.json', 'whetstone.node'])
})

test('a setup that was killed does not hold up the next', async () => {
  addCompiler(path)
  addPip(path, wheelFolder(), { delayMs: 3000 })
  const killed = startSetup()
  await until(() => path.calls().some(call => call.includes(' download ')))
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(readdirSync(cache).length).toBeGreaterThan(0)
  addPip(path, wheelFolder())
  const { code, output } = await startSetup().ended
  expect(code, output).toBe(0)
  expect(readdirSync(cache)).toEqual(['libtorch-2.13.0-cpu-linux-x64'])
})
