import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { processStart } from '../files/index.js'
import type { Report } from '../progress/index.js'
import type { BridgeRecord } from './bridge-record.js'
import { bridgePaths, readBridgeRecord } from './bridge-record.js'
import type { Compiler } from './compiler.js'
import { attributeDiskError, diskFull, SetupError } from './errors.js'
import type { FoundLibtorch } from './find-libtorch.js'
import { nvidiaFolders } from './libtorch.js'
import { runProcess, tail } from './process.js'

interface CompileContext {
  root: string
  libtorch: FoundLibtorch
  compiler: Compiler
  env: NodeJS.ProcessEnv
  report: Report
  signal: AbortSignal
}

/** Compiles `native/*.cc` into `build/whetstone.node`, unless exactly that is there already. */
export async function compileBridge(context: CompileContext): Promise<BridgeRecord> {
  const { root, libtorch, compiler, report } = context
  const paths = bridgePaths(root)
  const native = join(root, 'native')
  const inputs = (existsSync(native) ? readdirSync(native) : []).filter(name => /\.(cc|h|hh|hpp)$/.test(name)).sort()
  const sources = inputs.filter(name => name.endsWith('.cc'))
  if (sources.length === 0)
    throw new SetupError(`There are no sources in ${native}.`, 'The package is damaged: install it again.')

  const cudaHeaders = libtorch.cuda ? await findCudaHeaders(context) : undefined
  const flags = bridgeFlags(libtorch, cudaHeaders)
  const hash = createHash('sha256').update(JSON.stringify([flags, compiler, libtorch.version, process.arch]))
  for (const name of [...inputs, ...filesUnder(join(native, glooHeaders)).map(name => join(glooHeaders, name))])
    hash.update(`\0${name}\0`).update(readFileSync(join(native, name)))
  const inputsHash = hash.digest('hex')

  const { path, version, source, why, cuda } = libtorch
  const madeOf = {
    libtorch: { path, version, source, why },
    cuda,
    cudaGraphs: cudaHeaders !== undefined,
    compiler: compiler.version,
    inputsHash,
    builtAt: new Date().toISOString(),
  }
  const present = readBridgeRecord(root)
  if (present?.inputsHash === inputsHash && existsSync(paths.addon)) {
    report.line('The bridge is up to date.')
    return present
  }

  const started = Date.now()
  let record: BridgeRecord = { ...madeOf, collectives: false }
  report.line(`Compiling the bridge with ${compiler.version}`)
  try {
    await inScratch(paths.folder, async scratch => {
      const addon = join(scratch, 'whetstone.node')
      const build = { ...context, sources: sources.map(name => join(native, name)), flags, scratch, addon }
      record = { ...madeOf, ...(await compileAndLink(build)) }
      await checkLoads(addon, context)
      await rename(addon, paths.addon)
      // After the addon: were this step missed, the next setup would compile again rather than trust a wrong record.
      await writeFile(join(scratch, 'bridge.json'), `${JSON.stringify(record, null, 2)}\n`)
      await rename(join(scratch, 'bridge.json'), paths.record)
    })
  } catch (error) {
    throw attributeDiskError(error, paths.folder)
  }
  report.line(`The bridge is built (${Math.round((Date.now() - started) / 1000)} s).`)
  return record
}

interface Flags {
  compile: string[]
  link: string[]
}

function bridgeFlags(libtorch: FoundLibtorch, cudaHeaders: string | undefined): Flags {
  const include = join(libtorch.path, 'include')
  const lib = join(libtorch.path, 'lib')
  const runtimePaths = [lib, ...nvidiaFolders(libtorch.path, 'lib')]
  if (libtorch.cuda && existsSync('/usr/local/cuda/lib64')) runtimePaths.push('/usr/local/cuda/lib64')
  const headers: { include_dir: string } = createRequire(import.meta.url)('node-api-headers')
  return {
    compile: [
      '-std=c++20',
      '-O2',
      '-fPIC',
      '-fvisibility=hidden',
      '-DNAPI_VERSION=9',
      `-D_GLIBCXX_USE_CXX11_ABI=${libtorch.cxx11Abi ? 1 : 0}`,
      // System directories: libtorch's own warnings are not ours to fix.
      ...[headers.include_dir, include, join(include, 'torch/csrc/api/include')].flatMap(folder => [
        '-isystem',
        folder,
      ]),
      ...(cudaHeaders ? ['-DWHETSTONE_CUDA_GRAPHS', `-I${cudaHeaders}`] : []),
    ],
    link: [
      '-shared',
      `-L${lib}`,
      ...runtimePaths.map(folder => `-Wl,-rpath,${folder}`),
      // The old kind of rpath also serves the libraries these libraries need; the new kind would not.
      '-Wl,--disable-new-dtags',
      '-Wl,--allow-shlib-undefined',
      // Registration happens when a library is loaded, so it must be linked even if no symbol of it is named.
      '-Wl,--no-as-needed',
      '-ltorch_cpu',
      ...(libtorch.cuda ? ['-ltorch_cuda'] : []),
      '-lc10',
      ...(libtorch.cuda ? ['-lc10_cuda'] : []),
      '-ldl',
      '-pthread',
    ],
  }
}

/**
 * The directory of a CUDA runtime header that works with this libtorch. It is tried, not just looked for: the wheels of
 * CUDA 13 split the headers so that one can be there without those it includes.
 */
async function findCudaHeaders({
  libtorch,
  compiler,
  env,
  signal,
  report,
}: CompileContext): Promise<string | undefined> {
  const include = join(libtorch.path, 'include')
  const homes = [env.CUDA_HOME, env.CUDA_PATH, '/usr/local/cuda'].flatMap(home => (home ? [join(home, 'include')] : []))
  const folders = [...nvidiaFolders(libtorch.path, 'include'), include, ...homes]
  for (const folder of folders.filter(candidate => existsSync(join(candidate, 'cuda_runtime_api.h')))) {
    const { compile } = bridgeFlags(libtorch, folder)
    const args = [...compiler.args, ...compile, '-fsyntax-only', '-x', 'c++', '-']
    const stdin = '#include <ATen/cuda/CUDAGraph.h>\n'
    const result = await runProcess(compiler.command, args, { env, signal, stdin, timeoutMs: 120_000 })
    if (result.kind === 'exited' && result.code === 0) return folder
    const complaint = result.kind === 'exited' ? result.output.match(/fatal error: (.*)/)?.[1] : undefined
    report.line(`  the CUDA headers in ${folder} do not compile${complaint ? ` (${complaint})` : ''}`)
  }
  report.line('  no CUDA runtime header was found: the bridge is built without CUDA graphs')
  return undefined
}

interface Build extends CompileContext {
  sources: string[]
  flags: Flags
  scratch: string
  addon: string
}

/** Says whether the bridge has collectives. */
async function compileAndLink(build: Build): Promise<{ collectives: boolean }> {
  const { sources, flags, scratch, addon, compiler, env, report, signal, libtorch } = build
  const run = async (args: string[]) => {
    const result = await runProcess(compiler.command, [...compiler.args, ...args], { env, signal })
    if (result.kind === 'missing')
      throw new SetupError(`${compiler.command} disappeared.`, 'Install a C++ compiler again.')
    return result
  }
  const invoke = async (args: string[], what: string) => {
    const result = await run(args)
    if (result.code === 0) return
    if (/No space left on device/.test(result.output)) throw diskFull(scratch)
    throw new SetupError(
      `${what} failed with ${compiler.version}:\n${tail(firstErrors(result.output))}`,
      /Killed|virtual memory exhausted/.test(result.output)
        ? 'The compiler ran out of memory: close other programs, or use a machine with 4 GB or more, and run `npx whetstone setup`.'
        : 'GCC 10 or Clang 12 (C++20) or newer is needed; set CXX to one and run `npx whetstone setup`.',
    )
  }
  const objects = sources.map(path => join(scratch, `${basename(path)}.o`))
  const wanted = collectiveFlags(libtorch, join(dirname(sources[0]!), glooHeaders))
  let collectives = wanted.length > 0
  const queue = sources.entries()
  const failed = new AbortController()
  const work = async () => {
    for (const [index, path] of queue) {
      if (failed.signal.aborted) return
      report.line(`  ${basename(path)} (${index + 1} of ${sources.length})`)
      const args = [...flags.compile, '-c', path, '-o', objects[index] ?? '']
      try {
        if (basename(path) === collectivesSource && collectives) {
          if ((await run([...wanted, ...args])).code === 0) continue
          collectives = false
        }
        await invoke(args, `Compiling native/${basename(path)}`)
      } catch (error) {
        failed.abort()
        throw error
      }
    }
  }
  // libtorch's headers take more than a gigabyte to compile: more at once would trade time for memory.
  const results = await Promise.allSettled(Array.from({ length: Math.min(4, availableParallelism()) }, work))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  await invoke([...objects, ...flags.link, '-o', addon], 'Linking the bridge')
  if (!collectives && sources.some(path => basename(path) === collectivesSource))
    report.line(
      '  this libtorch has no c10d that fits: the bridge is built without collectives, for one process per training',
    )
  return { collectives }
}

const collectivesSource = 'collectives.cc'
/** Stand-ins for headers of gloo, which the torch wheel does not have; its code is inside libtorch_cpu. */
const glooHeaders = 'gloo-headers'

/** Empty where libtorch was built without c10d. A missing symbol would show only when it is first called, so it is looked for. */
function collectiveFlags({ path }: FoundLibtorch, standIns: string): string[] {
  const include = join(path, 'include')
  if (!existsSync(join(include, 'torch/csrc/distributed/c10d/ProcessGroupGloo.hpp'))) return []
  if (!fileContains(join(path, 'lib/libtorch_cpu.so'), 'N4c10d16ProcessGroupGlooC1E')) return []
  const headers = existsSync(join(include, 'gloo/context.h')) ? [] : ['-isystem', standIns]
  return ['-DWHETSTONE_COLLECTIVES', ...headers]
}

/** Reads piece by piece: libtorch_cpu has hundreds of megabytes. */
function fileContains(path: string, text: string): boolean {
  const piece = Buffer.alloc(1 << 24)
  const file = openSync(path, 'r')
  try {
    // The end of each piece is kept before the next one: the text may lie across both.
    for (let kept = 0; ; ) {
      const read = readSync(file, piece, kept, piece.length - kept, null)
      if (piece.subarray(0, kept + read).includes(text)) return true
      if (read === 0) return false
      const end = kept + read
      kept = Math.min(end, text.length - 1)
      piece.copyWithin(0, end - kept, end)
    }
  } finally {
    closeSync(file)
  }
}

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return []
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return found.filter(name => name.endsWith('.h')).sort()
}

/** From the first error on: what follows it is usually its consequence, what precedes it is notes and warnings. */
function firstErrors(output: string): string {
  const lines = output.trimEnd().split('\n')
  const first = lines.findIndex(line => /error/i.test(line))
  return lines.slice(Math.max(0, first), Math.max(0, first) + 12).join('\n')
}

/** A bridge that cannot be loaded must not be left for the first training run to find. */
async function checkLoads(addon: string, { libtorch, env, signal }: CompileContext): Promise<void> {
  const script = 'process.dlopen({ exports: {} }, process.argv[1])'
  const result = await runProcess(process.execPath, ['-e', script, addon], { env, signal, timeoutMs: 120_000 })
  if (result.kind === 'exited' && result.code === 0) return
  const complaint = result.kind === 'exited' ? (result.output.match(/Error: (.*)/)?.[1] ?? tail(result.output)) : ''
  throw new SetupError(
    `The bridge was compiled, but cannot be loaded: ${complaint || 'it crashed'}`,
    `The libtorch in ${libtorch.path} may be incomplete, or may need libraries that are missing on this machine. ` +
      'Set LIBTORCH to another one, or unset it to download one, and run `npx whetstone setup`.',
  )
}

/** A directory inside `build/` for this process alone; a failed first build leaves not even `build/` behind. */
async function inScratch(folder: string, work: (scratch: string) => Promise<void>): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    const pid = name.match(/^\.making-(\d+)$/)?.[1]
    if (pid && processStart(Number(pid)) === undefined) await rm(join(folder, name), { recursive: true, force: true })
  }
  const scratch = join(folder, `.making-${process.pid}`)
  await mkdir(scratch)
  try {
    await work(scratch)
  } finally {
    await rm(scratch, { recursive: true, force: true })
    await rmdir(folder).catch(() => {}) // Only goes through when it is empty.
  }
}
