import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { repository } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { writeTree } from '../support/setup.js'

let root: string

/** A clone with the real install scripts and a command line that only says what it was asked. */
beforeEach(() => {
  root = writeTree(temporaryDirectory(), {
    'package.json': '{"type":"module"}',
    'src/cli/main.ts':
      "export async function start(args: string[]): Promise<number> {\n  console.log('asked', ...args)\n  return 7\n}\n",
    'src/dashboard/page/main.tsx': 'export {}\n',
    'src/dashboard/page/index.html': '<!doctype html>',
    'src/kernels/norm.cu': '// kernel',
    'src/kernels/shared.cuh': '// shared',
  })
  cpSync(join(repository, 'install'), join(root, 'install'), { recursive: true })
  cpSync(join(repository, 'tsconfig.json'), join(root, 'tsconfig.json'))
  cpSync(join(repository, 'tsconfig.build.json'), join(root, 'tsconfig.build.json'))
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
})

function run(script: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) {
  const result = spawnSync(process.execPath, [join(root, 'install', script), ...args], {
    encoding: 'utf8',
    env: { ...process.env, npm_command: 'ci', ...env },
  })
  return { code: result.status, stdout: result.stdout, stderr: result.stderr }
}

describe('a clone', () => {
  test('before setup every command but setup says what to do', () => {
    expect(run('whetstone.mjs', ['doctor'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run `npx whetstone setup`'),
    })
  })

  test('the install script compiles the TypeScript, brings the kernels, and runs setup', () => {
    expect(run('postinstall.mjs')).toMatchObject({ code: 7, stdout: 'asked setup\n' })
    expect(readFileSync(join(root, 'dist/kernels/norm.cu'), 'utf8')).toBe('// kernel')
    expect(existsSync(join(root, 'dist/kernels/shared.cuh'))).toBe(true)
    const map = JSON.parse(readFileSync(join(root, 'dist/cli/main.js.map'), 'utf8'))
    expect(map.sources).toEqual(['../../src/cli/main.ts'])
    expect(readdirSync(root).filter(name => name.startsWith('.dist'))).toEqual([])
    expect(run('whetstone.mjs', ['doctor', '--json'])).toMatchObject({ code: 7, stdout: 'asked doctor --json\n' })
  })

  test('TypeScript that does not compile leaves things as they were', () => {
    writeFileSync(join(root, 'src/cli/main.ts'), 'export const main: number = "text"\n')
    const { code, stderr } = run('postinstall.mjs')
    expect(code).toBe(1)
    expect(stderr).toMatch(/does not compile:\n.*main\.ts.*TS2322/)
    expect(readdirSync(root).filter(name => /dist/.test(name))).toEqual([])
  })

  test('without the development dependencies', () => {
    rmSync(join(root, 'node_modules'))
    expect(run('postinstall.mjs')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('development dependencies'),
    })
  })

  test('linked into the cache of npx, it is not set up a second time', () => {
    expect(run('postinstall.mjs', [], { npm_command: 'exec' })).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(existsSync(join(root, 'dist'))).toBe(false)
  })
})

test('a published package runs its dist as it came', () => {
  run('build-javascript.mjs')
  rmSync(join(root, 'src'), { recursive: true })
  rmSync(join(root, 'node_modules'))
  expect(run('postinstall.mjs')).toMatchObject({ code: 7, stdout: 'asked setup\n', stderr: '' })
})
