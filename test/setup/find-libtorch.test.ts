import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { requireSpace } from '../../src/setup/cache.js'
import { attributeDiskError, SetupError } from '../../src/setup/errors.js'
import { findLibtorch } from '../../src/setup/find-libtorch.js'
import { atLeast, inspectLibtorch } from '../../src/setup/libtorch.js'
import { supportedPlatform, wantsCuda } from '../../src/setup/platform.js'
import { temporaryDirectory } from '../support/files.js'
import {
  addPip,
  libtorchFiles,
  makeZip,
  type Programs,
  programs,
  silentReport,
  torchWheel,
  wheelParts,
  writeTree,
  type ZipPart,
} from '../support/setup.js'

let cache: string
let path: Programs
let report: ReturnType<typeof silentReport>
let env: NodeJS.ProcessEnv
let server: Server | undefined

beforeEach(() => {
  cache = join(temporaryDirectory(), 'cache')
  path = programs()
  report = silentReport()
  // Nothing listens on port 1: the network as it is without one.
  env = { PATH: path.path, WHETSTONE_CACHE: cache, WHETSTONE_CUDA: '0', WHETSTONE_ARCHIVE_URL: 'http://127.0.0.1:1' }
})

afterEach(() => {
  server?.close()
  server = undefined
})

const find = (more: NodeJS.ProcessEnv = {}) =>
  findLibtorch({ platform: 'linux-x64', env: { ...env, ...more }, report, signal: new AbortController().signal })

function addPython(folder: string, version: string): void {
  path.add(
    'python3',
    `if (args[0] === '-c') console.log(JSON.stringify(${JSON.stringify({ folder, version })})); else process.exit(1)`,
  )
}

async function serveArchive(bytes: Buffer): Promise<void> {
  server = createServer((request, response) => {
    if (request.url?.endsWith('/libtorch-shared-with-deps-2.13.0%2Bcpu.zip')) response.end(bytes)
    else response.writeHead(404).end()
  })
  await new Promise<void>(resolve => server?.listen(0, '127.0.0.1', resolve))
  env.WHETSTONE_ARCHIVE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cpu`
}

const archiveParts = (): ZipPart[] =>
  Object.entries(libtorchFiles()).map(([name, content]) => ({ name: `libtorch/${name}`, content }))

function wheels(more: Record<string, ZipPart[]> = {}): string {
  const folder = temporaryDirectory()
  const all = {
    'torch-2.13.0-cp311.whl': torchWheel(),
    'nvidia_cuda_runtime-13.0.whl': wheelParts('nvidia_cuda_runtime-13.0', {
      'nvidia/cu13/lib/libcudart.so.13': 'cudart',
    }),
    'nvidia_cuda_cupti-13.0.whl': wheelParts('nvidia_cuda_cupti-13.0', { 'nvidia/cu13/lib/libcupti.so.13': 'cupti' }),
    ...more,
  }
  for (const [name, parts] of Object.entries(all)) writeFileSync(join(folder, name), makeZip(parts))
  return folder
}

/** What a failure may leave: nothing, not even an empty directory with a telling name. */
const leftovers = () => (existsSync(cache) ? readdirSync(cache) : [])

describe('LIBTORCH', () => {
  test('is taken as it is named, or one directory further in', async () => {
    const folder = temporaryDirectory()
    const libtorch = writeTree(join(folder, 'torch'), libtorchFiles('2.4.1', { cuda: true }))
    for (const LIBTORCH of [libtorch, folder])
      expect(await find({ LIBTORCH })).toMatchObject({
        path: libtorch,
        version: '2.4.1',
        cuda: true,
        cxx11Abi: true,
        source: 'LIBTORCH',
      })
  })

  test('too old, or not one at all, is an error that says so', async () => {
    const old = writeTree(temporaryDirectory(), libtorchFiles('2.3.1'))
    await expect(find({ LIBTORCH: old })).rejects.toThrow(/is 2\.3\.1, and 2\.4 or newer is needed/)
    await expect(find({ LIBTORCH: temporaryDirectory() })).rejects.toThrow(/there is no include in/)
    await expect(find({ LIBTORCH: '/nowhere' })).rejects.toMatchObject({ remedy: expect.stringContaining('unset it') })
  })
})

describe('inspecting', () => {
  test('the version is found in each of its places', () => {
    const { 'include/torch/headeronly/version.h': header = '', ...rest } = libtorchFiles('2.6.0')
    const places: Record<string, string>[] = [
      { 'include/torch/csrc/api/include/torch/version.h': header },
      { 'build-version': '2.6.0\n', 'include/x': '' },
      { 'version.py': "from typing import Optional\n__version__ = '2.6.0'\n", 'include/x': '' },
    ]
    for (const place of places)
      expect(inspectLibtorch(writeTree(temporaryDirectory(), { ...rest, ...place }))).toMatchObject({
        libtorch: { version: '2.6.0' },
      })
  })

  test('the old ABI is seen', () => {
    const folder = writeTree(temporaryDirectory(), {
      ...libtorchFiles(),
      'lib/libc10.so': '_ZN3c106detail14torchCheckFailEPKcS2_jRKSs',
    })
    expect(inspectLibtorch(folder)).toMatchObject({ libtorch: { cxx11Abi: false } })
  })

  test('versions compare as numbers', () => {
    expect(['2.4', '2.4.0+cu121', '2.13.0a0', '3.0'].every(version => atLeast(version, '2.4'))).toBe(true)
    expect(['2.3.9', '1.13.1'].some(version => atLeast(version, '2.4'))).toBe(false)
  })
})

describe("Python's torch", () => {
  test('is found', async () => {
    const folder = writeTree(temporaryDirectory(), libtorchFiles('2.5.0'))
    addPython(folder, '2.5.0+cpu')
    expect(await find()).toMatchObject({ path: folder, source: 'python', why: 'it is the torch that python3 imports' })
  })

  test('too old: passed over with a word, and the search goes on', async () => {
    addPython(writeTree(temporaryDirectory(), libtorchFiles('2.1.0')), '2.1.0')
    await serveArchive(makeZip(archiveParts()))
    expect(await find()).toMatchObject({ source: 'archive' })
    expect(report.lines.join('\n')).toMatch(/skipped: the torch of python3: .* is 2\.1\.0, and 2\.4 or newer/)
  })
})

describe('the archive', () => {
  test('is fetched, unpacked, and then found in the cache without a network', async () => {
    await serveArchive(makeZip([...archiveParts(), { name: 'libtorch/share/cmake/x', content: '' }]))
    const found = await find()
    expect(found).toMatchObject({ version: '2.13.0', cuda: false, source: 'archive' })
    expect(readFileSync(join(found.path, 'lib/libtorch_cpu.so'), 'utf8')).toBe('cpu')
    expect(leftovers()).toEqual(['libtorch-2.13.0-cpu-linux-x64'])
    expect(await find({ WHETSTONE_ARCHIVE_URL: 'http://127.0.0.1:1' })).toMatchObject({
      path: found.path,
      source: 'cache',
    })
  })

  test('broken: pip is asked instead; without pip, one message and nothing left', async () => {
    await serveArchive(makeZip(archiveParts()).subarray(0, -100))
    await expect(find()).rejects.toThrow(/the archive from 127\.0\.0\.1:\d+ is broken: .*\n.*there is no pip/)
    expect(leftovers()).toEqual([])
    addPip(path, wheels())
    expect(await find()).toMatchObject({ source: 'pip' })
  })

  test('a cache entry that was never finished is made anew', async () => {
    writeTree(join(cache, 'libtorch-2.13.0-cpu-linux-x64/torch'), libtorchFiles())
    mkdirSync(join(cache, '.making-killed'))
    await serveArchive(makeZip(archiveParts()))
    expect(await find()).toMatchObject({ source: 'archive' })
    expect(report.lines.join('\n')).toMatch(/is not complete/)
    expect(leftovers()).toEqual(['libtorch-2.13.0-cpu-linux-x64'])
  })
})

describe('pip', () => {
  test('for the CPU: the libraries needed, side by side, and no more', async () => {
    addPip(path, wheels())
    const found = await find()
    expect(found).toMatchObject({ source: 'pip', cuda: false })
    const entry = join(cache, 'libtorch-2.13.0-cpu-linux-x64')
    expect(readdirSync(entry).sort()).toEqual(['complete.json', 'nvidia', 'torch'])
    expect(readdirSync(join(entry, 'torch')).sort()).toEqual(['include', 'lib'])
    expect(readdirSync(join(entry, 'torch/lib')).sort()).toEqual([
      'libc10.so',
      'libgomp.so.1',
      'libtorch.so',
      'libtorch_cpu.so',
    ])
    expect(readdirSync(join(entry, 'nvidia/cu13/lib')).sort()).toEqual(['libcudart.so.13', 'libcupti.so.13'])
    const downloads = path.calls().filter(call => call.includes(' download '))
    expect(downloads).toHaveLength(2)
    expect(downloads.every(call => call.includes('--no-deps'))).toBe(true)
  })

  test('with CUDA: what the wheel names comes too, and the archive is not asked', async () => {
    await serveArchive(makeZip(archiveParts()))
    addPip(
      path,
      wheels({
        'cuda_toolkit-13.whl': wheelParts('cuda_toolkit-13', { 'nvidia/cu13/include/cuda_runtime_api.h': '' }),
      }),
    )
    const found = await find({ WHETSTONE_CUDA: '1' })
    expect(found).toMatchObject({ source: 'pip', cuda: true })
    expect(existsSync(join(found.path, '../nvidia/cu13/include/cuda_runtime_api.h'))).toBe(true)
    expect(report.lines.join('\n')).toMatch(/not the CPU archive of PyTorch/)
    expect(path.calls().at(-1)).toMatch(
      /nvidia-cudnn-cu13==9\.20\.0\.48; platform_system == "Linux" cuda-toolkit\[crt\]==13\.0\.3/,
    )
    // Without a driver that copy serves as well.
    expect(await find()).toMatchObject({ source: 'cache', path: found.path })
  })

  test('CUDA cannot be fetched: the CPU archive is better than nothing', async () => {
    await serveArchive(makeZip(archiveParts()))
    expect(await find({ WHETSTONE_CUDA: '1' })).toMatchObject({
      source: 'archive',
      why: expect.stringContaining('CUDA could not'),
    })
  })

  test('a wheel that is not what its RECORD says is refused', async () => {
    const torch = torchWheel().map(part => (part.name === 'torch/lib/libc10.so' ? { ...part, content: 'other' } : part))
    addPip(path, wheels({ 'torch-2.13.0-cp311.whl': torch }))
    await expect(find()).rejects.toThrow(/a wheel from pip is broken: .*libc10\.so.*RECORD/)
    expect(leftovers()).toEqual([])
  })

  test.each([
    [
      'ERROR: No matching distribution found for torch==2.13.0',
      /pip: No matching distribution found for torch==2\.13\.0 for this Python/,
    ],
    ['WARNING: Failed to establish a new connection: [Errno -2]', /pip cannot reach its package index/],
    ['ERROR: something new', /pip failed: something new/],
  ])('says %s', async (complaint, message) => {
    path.add(
      'pip',
      `if (args[0] === '--version') process.exit(0); console.error(${JSON.stringify(complaint)}); process.exit(1)`,
    )
    await expect(find()).rejects.toThrow(message)
    expect(leftovers()).toEqual([])
  })

  test('a disk that fills up under it ends the search', async () => {
    path.add(
      'pip',
      `if (args[0] === '--version') process.exit(0); console.error('ERROR: [Errno 28] No space left on device'); process.exit(1)`,
    )
    await expect(find()).rejects.toThrow(/The disk is full/)
    expect(leftovers()).toEqual([])
  })
})

test('no network and no pip: one message that says what to do', async () => {
  const failure = await find().catch(error => error)
  expect(failure).toBeInstanceOf(SetupError)
  expect(failure.message).toMatch(/127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)\n {2}- there is no pip/)
  expect(failure.remedy).toMatch(/set LIBTORCH .*`npx whetstone setup`/)
  expect(leftovers()).toEqual([])
})

test('too little space is said before anything is fetched', async () => {
  await expect(requireSpace(cache, 1.3e9, async () => 4e8)).rejects.toThrow(/needs 1\.3 GB in .*, and 400 MB are free/)
  await requireSpace(cache, 1)
})

test('the errors of a disk have their messages', () => {
  const failure = (code: string) => attributeDiskError(Object.assign(new Error('x'), { code }), '/cache') as Error
  expect(failure('ENOSPC').message).toMatch(/The disk is full: \/cache/)
  expect(failure('EROFS').message).toMatch(/\/cache cannot be written/)
  expect(failure('EOTHER').message).toBe('x')
})

test('platforms', () => {
  expect(supportedPlatform('linux', 'arm64')).toBe('linux-arm64')
  expect(() => supportedPlatform('win32', 'x64')).toThrow(/Linux .* this is win32-x64/)
  expect(() => supportedPlatform('darwin', 'arm64')).toThrow(SetupError)
})

test('a driver is seen through nvidia-smi, and WHETSTONE_CUDA overrules it', () => {
  path.add('nvidia-smi', '')
  expect(wantsCuda({ PATH: path.path })).toEqual({ cuda: true, why: 'there is an NVIDIA driver' })
  expect(wantsCuda({ PATH: path.path, WHETSTONE_CUDA: '0' }).cuda).toBe(false)
  expect(() => wantsCuda({ WHETSTONE_CUDA: 'yes' })).toThrow(SetupError)
})
