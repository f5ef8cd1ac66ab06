import { mkdir, mkdtemp, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DownloadError, download } from '../http/index.js'
import type { Report } from '../progress/index.js'
import { type Cache, createEntry, requireSpace, type Variant } from './cache.js'
import { attributeDiskError } from './errors.js'
import { fetchedVersion, inspectLibtorch } from './libtorch.js'
import { findPip, PipError, pipDownload } from './pip.js'
import type { Platform } from './platform.js'
import { unpack } from './unpack.js'
import { cpuRequirements, cudaRequirements, readWheel, wheelPlace } from './wheel.js'
import { BrokenArchiveError, openZip } from './zip.js'

export interface FetchContext {
  cache: Cache
  platform: Platform
  env: NodeJS.ProcessEnv
  report: Report
  signal: AbortSignal
}

/** A way that did not lead to a libtorch leaves the reason, and the search goes on; a full disk or Ctrl-C ends it. */
export type Fetched = { kind: 'fetched' } | { kind: 'passed'; reason: string }

const spaceFor = { archive: 1.5e9, cpu: 1.3e9, cuda: 7e9 }

/** PyTorch's own archive: plain HTTP, no Python needed. It has no CUDA, and exists for x86-64 only. */
export async function fetchArchive(context: FetchContext): Promise<Fetched> {
  const { cache, env, report, signal } = context
  if (context.platform !== 'linux-x64')
    return { kind: 'passed', reason: `PyTorch has no C++ archive for ${context.platform}` }
  const base = (env.WHETSTONE_ARCHIVE_URL || 'https://download.pytorch.org/libtorch/cpu').replace(/\/$/, '')
  const name = `libtorch-shared-with-deps-${fetchedVersion}+cpu.zip`
  const url = `${base}/${encodeURIComponent(name)}`
  const archive = join(cache.downloads, name)
  const transfer = report.transfer('PyTorch CPU archive')
  let lost = false
  try {
    await requireSpace(cache.root, spaceFor.archive)
    await mkdir(cache.downloads, { recursive: true })
    await download({ url, to: archive, onBytes: (received, total) => transfer.at(received, total), signal })
    await createEntry(cache, 'cpu', async folder => {
      await unpackInto(archive, folder, archivePlace, context)
      return { url }
    })
    return { kind: 'fetched' }
  } catch (error) {
    lost = error instanceof DownloadError
    if (error instanceof DownloadError) return { kind: 'passed', reason: error.message }
    if (error instanceof BrokenArchiveError)
      return { kind: 'passed', reason: `the archive from ${new URL(url).host} is broken: ${error.message}` }
    throw attributeDiskError(error, cache.root)
  } finally {
    transfer.end()
    // Only a lost connection leaves something worth continuing.
    if (!lost) await rm(cache.downloads, { recursive: true, force: true })
    else await rmdir(cache.downloads).catch(() => {}) // Only goes through when it is empty.
  }
}

/** `libtorch/lib/...` in the archive is `torch/lib/...` in the cache, as in a wheel. */
function archivePlace(name: string): string | undefined {
  const path = name.match(/^libtorch\/(.+)$/)?.[1]
  return path && (/^(include|lib)\//.test(path) || /^build-/.test(path)) && !path.endsWith('.a')
    ? `torch/${path}`
    : undefined
}

/** The `torch` wheel, with what it needs beside it. */
export async function fetchWithPip(variant: Variant, context: FetchContext): Promise<Fetched> {
  const { cache, env, report, signal } = context
  const pip = await findPip(env, signal)
  if (!pip) return { kind: 'passed', reason: 'there is no pip' }
  await requireSpace(cache.root, spaceFor[variant])
  try {
    await createEntry(cache, variant, async folder => {
      const wheels = await mkdtemp(join(folder, '.wheels-'))
      const common = { pip, env, report, signal }
      report.line(`  pip downloads torch ${fetchedVersion}`)
      const requirements = [`torch==${fetchedVersion}`]
      const [torch] = await pipDownload({
        ...common,
        requirements,
        dependencies: 'left out',
        into: wheels,
        label: 'torch wheel',
      })
      if (!torch) throw new PipError('pip reported success but left no wheel')
      await unpackWheel(torch, folder, variant, context)

      const requires = await requirementsOf(torch)
      const cuda = variant === 'cuda' && (await inspectCuda(folder))
      const libraries = cuda ? cudaRequirements(requires) : cpuRequirements(requires)
      await rm(torch)
      if (libraries.length > 0) {
        report.line(
          `  pip downloads ${cuda ? 'the CUDA libraries it names' : 'the two NVIDIA libraries it is linked against'}`,
        )
        const dependencies = cuda ? ('included' as const) : ('left out' as const)
        const paths = await pipDownload({
          ...common,
          requirements: libraries,
          dependencies,
          into: wheels,
          label: 'libraries',
        })
        for (const path of paths) await unpackWheel(path, folder, variant, context)
      }
      await rm(wheels, { recursive: true })
      return { wheels: requirements.concat(libraries) }
    })
    return { kind: 'fetched' }
  } catch (error) {
    if (error instanceof PipError) return { kind: 'passed', reason: error.message }
    if (error instanceof BrokenArchiveError)
      return { kind: 'passed', reason: `a wheel from pip is broken: ${error.message}` }
    throw attributeDiskError(error, cache.root)
  }
}

/** A mirror may serve a CPU build under the same name: then there are no CUDA libraries to want. */
async function inspectCuda(folder: string): Promise<boolean> {
  const inspection = inspectLibtorch(join(folder, 'torch'))
  return inspection.kind === 'usable' && inspection.libtorch.cuda
}

async function requirementsOf(wheel: string): Promise<string[]> {
  const zip = await openZip(wheel)
  try {
    return (await readWheel(zip)).requires
  } finally {
    await zip.close()
  }
}

async function unpackWheel(path: string, folder: string, variant: Variant, context: FetchContext): Promise<void> {
  await unpackInto(path, folder, wheelPlace({ cuda: variant === 'cuda' }), context)
}

async function unpackInto(
  path: string,
  folder: string,
  place: (name: string) => string | undefined,
  { report, signal }: FetchContext,
): Promise<void> {
  const transfer = report.transfer(`unpacking ${basename(path).replace(/-.*/, '')}`)
  const zip = await openZip(path)
  try {
    const digests = path.endsWith('.whl') ? (await readWheel(zip)).digests : undefined
    const onBytes = (bytes: number, total: number) => transfer.at(bytes, total)
    await unpack({ zip, into: folder, place, ...(digests && { digests }), onBytes, signal })
  } finally {
    transfer.end()
    await zip.close()
  }
}
