import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { compileBridge } from '../../src/setup/compile-bridge.js'
import { findCompiler } from '../../src/setup/compiler.js'
import type { FoundLibtorch } from '../../src/setup/find-libtorch.js'
import { temporaryDirectory } from '../support/files.js'
import { addCompiler, libtorchFiles, type Programs, programs, silentReport, writeTree } from '../support/setup.js'

const signal = new AbortController().signal
let root: string
let path: Programs
let report: ReturnType<typeof silentReport>
let libtorch: FoundLibtorch

beforeEach(() => {
  root = writeTree(temporaryDirectory(), {
    'native/one.cc': '// one',
    'native/two.cc': '// two',
    'native/shared.h': '// shared',
  })
  path = programs()
  report = silentReport()
  const folder = writeTree(join(temporaryDirectory(), 'torch'), libtorchFiles())
  libtorch = {
    path: folder,
    version: '2.13.0',
    cuda: false,
    cxx11Abi: true,
    source: 'LIBTORCH',
    why: 'LIBTORCH names it',
  }
})

async function compile() {
  const env = { PATH: path.path }
  return compileBridge({ root, libtorch, compiler: await findCompiler(env, signal), env, report, signal })
}
const compiled = () => path.calls().filter(call => call.includes(' -c ')).length

test('sources become objects, objects the bridge, with a record of what went in', async () => {
  addCompiler(path)
  const record = await compile()
  expect(readdirSync(join(root, 'build')).sort()).toEqual(['bridge.json', 'whetstone.node'])
  expect(JSON.parse(readFileSync(join(root, 'build/bridge.json'), 'utf8'))).toEqual(record)
  expect(record).toMatchObject({
    libtorch: { path: libtorch.path, version: '2.13.0', source: 'LIBTORCH', why: 'LIBTORCH names it' },
    cuda: false,
    cudaGraphs: false,
    compiler: 'g++ (pretending) 12.0',
  })
  expect(compiled()).toBe(2)
  const link = path.calls().at(-1)
  expect(link).toContain(`-Wl,-rpath,${libtorch.path}/lib`)
  expect(link).toMatch(/-ltorch_cpu -lc10 /)
  expect(link).not.toContain('torch_cuda')
})

test('unchanged inputs are not compiled again; a changed header, libtorch or a lost file are', async () => {
  addCompiler(path)
  await compile()
  await compile()
  expect(compiled()).toBe(2)
  writeFileSync(join(root, 'native/shared.h'), '// changed')
  await compile()
  expect(compiled()).toBe(4)
  libtorch = { ...libtorch, version: '2.13.1' }
  await compile()
  expect(compiled()).toBe(6)
})

test('with CUDA its libraries are linked, found at run time, and the headers tried', async () => {
  addCompiler(path)
  writeTree(join(libtorch.path, '..'), {
    'nvidia/cu13/include/cuda_runtime_api.h': '',
    'nvidia/cu13/lib/libcudart.so.13': '',
  })
  libtorch = { ...libtorch, cuda: true }
  expect(await compile()).toMatchObject({ cuda: true, cudaGraphs: true })
  const nvidia = join(libtorch.path, '../nvidia/cu13')
  expect(path.calls().find(call => call.includes(' -c '))).toContain(`-DWHETSTONE_CUDA_GRAPHS -I${nvidia}/include`)
  expect(path.calls().at(-1)).toMatch(/-ltorch_cpu -ltorch_cuda -lc10 -lc10_cuda/)
  expect(path.calls().at(-1)).toContain(`-Wl,-rpath,${nvidia}/lib`)
})

test('a compile error shows the error, not the notes around it, and leaves no build/', async () => {
  addCompiler(path, {
    compile: `console.error('In file included from x.h:1\\n'.repeat(40) + 'two.cc:3:1: error: expected a semicolon\\n  3 | int x\\n'); process.exit(1)`,
  })
  await expect(compile()).rejects.toMatchObject({
    message: expect.stringMatching(
      /Compiling native\/\w+\.cc failed with g\+\+ \(pretending\) 12\.0:\ntwo\.cc:3:1: error: expected a semicolon/,
    ),
    remedy: expect.stringContaining('GCC 10'),
  })
  expect(existsSync(join(root, 'build'))).toBe(false)
})

test('a compiler killed for memory, a full disk', async () => {
  addCompiler(path, {
    compile: `console.error('g++: fatal error: Killed signal terminated program cc1plus'); process.exit(1)`,
  })
  await expect(compile()).rejects.toMatchObject({ remedy: expect.stringContaining('out of memory') })
  addCompiler(path, { compile: `console.error('error: /tmp/x.s: No space left on device'); process.exit(1)` })
  await expect(compile()).rejects.toThrow(/The disk is full/)
  expect(existsSync(join(root, 'build'))).toBe(false)
})

test('a bridge that cannot be loaded is not installed; the one before stays', async () => {
  addCompiler(path)
  const before = await compile()
  const garbage = join(temporaryDirectory(), 'garbage.node')
  writeFileSync(garbage, 'not a library')
  addCompiler(path, { addon: garbage })
  writeFileSync(join(root, 'native/one.cc'), '// changed')
  await expect(compile()).rejects.toThrow(/compiled, but cannot be loaded: .*(invalid ELF header|too short)/)
  expect(JSON.parse(readFileSync(join(root, 'build/bridge.json'), 'utf8'))).toEqual(before)
  expect(readdirSync(join(root, 'build')).sort()).toEqual(['bridge.json', 'whetstone.node'])
})

test('no compiler', async () => {
  await expect(compile()).rejects.toMatchObject({
    message: expect.stringContaining('No C++ compiler was found'),
    remedy: expect.stringContaining('apt install g++'),
  })
  await expect(findCompiler({ PATH: path.path, CXX: 'nothing++' }, signal)).rejects.toThrow(/CXX is "nothing\+\+"/)
})

test('CXX may hold a launcher and arguments', async () => {
  addCompiler(path)
  path.add(
    'launcher',
    `process.stdout.write(require('node:child_process').execFileSync(${JSON.stringify(join(path.path, 'g++'))}, args.slice(1)))`,
  )
  expect(await findCompiler({ PATH: path.path, CXX: 'launcher g++' }, signal)).toEqual({
    command: 'launcher',
    args: ['g++'],
    version: 'g++ (pretending) 12.0',
  })
})
