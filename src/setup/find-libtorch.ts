import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Report } from '../progress/index.js'
import { inspectEntry, openCache, type Variant } from './cache.js'
import { SetupError } from './errors.js'
import { type FetchContext, type Fetched, fetchArchive, fetchWithPip } from './fetch-libtorch.js'
import { inspectLibtorch, type Libtorch, oldestVersion } from './libtorch.js'
import { withLock } from './lock.js'
import { type Platform, wantsCuda } from './platform.js'
import { findPythonTorch } from './python.js'

export type Source = 'LIBTORCH' | 'python' | 'cache' | 'archive' | 'pip'

export interface FoundLibtorch extends Libtorch {
  source: Source
  /** Why this one and not another, in a sentence. */
  why: string
}

interface SearchContext {
  platform: Platform
  env: NodeJS.ProcessEnv
  report: Report
  signal: AbortSignal
}

/** Finds the libtorch to build against, fetching one when there is none. The order is the contract; docs/install.md tells it. */
export async function findLibtorch(context: SearchContext): Promise<FoundLibtorch> {
  const { env, platform, report, signal } = context
  const passed: string[] = []
  const pass = (reason: string) => {
    passed.push(reason)
    report.line(`  skipped: ${reason}`)
  }

  const given = fromEnvironment(env)
  if (given) return given

  const python = await findPythonTorch(env, signal)
  if (python) {
    const inspection = inspectLibtorch(python.folder)
    if (inspection.kind === 'usable')
      return { ...inspection.libtorch, source: 'python', why: `it is the torch that ${python.python} imports` }
    pass(`the torch of ${python.python}: ${inspection.reason}`)
  }

  const wish = wantsCuda(env)
  const cache = openCache(env, platform)
  const fromCache = (variants: Variant[], source: Source, why: string): FoundLibtorch | undefined => {
    for (const variant of variants) {
      const inspection = inspectEntry(cache, variant)
      if (inspection?.kind === 'usable') return { ...inspection.libtorch, source, why }
      if (inspection) pass(inspection.reason)
    }
    return undefined
  }
  // Without a driver the CUDA copy computes just as well on the CPU. With one, the CPU copy is only better than nothing.
  const usual: Variant[] = wish.cuda ? ['cuda'] : ['cpu', 'cuda']
  const cached = fromCache(usual, 'cache', 'it was fetched earlier')
  if (cached) return cached

  const fetching: FetchContext = { ...context, cache }
  const onWait = ({ pid }: { pid: number }) =>
    report.line(`  another setup (process ${pid}) is downloading libtorch; waiting for it`)
  return withLock(cache.lock, { signal, onWait }, async () => {
    const meanwhile = fromCache(usual, 'cache', 'another setup fetched it while this one waited')
    if (meanwhile) return meanwhile

    const attempt = async (source: 'archive' | 'pip', variant: Variant, fetch: () => Promise<Fetched>, why: string) => {
      const result = await fetch()
      if (result.kind === 'fetched') return fromCache([variant], source, why)
      pass(result.reason)
      return undefined
    }
    const archive = (why: string) => attempt('archive', 'cpu', () => fetchArchive(fetching), why)
    const pip = (variant: Variant, why: string) => attempt('pip', variant, () => fetchWithPip(variant, fetching), why)

    let found: FoundLibtorch | undefined
    if (wish.cuda) {
      report.line(`Downloading libtorch with CUDA: ${wish.why} (the CUDA wheel of pip, not the CPU archive of PyTorch)`)
      found =
        (await pip('cuda', `${wish.why}, and the torch wheel has CUDA`)) ??
        fromCache(['cpu'], 'cache', 'CUDA could not be downloaded, and this one was downloaded earlier') ??
        (await archive('CUDA could not be downloaded, and this one needs no CUDA'))
    } else {
      report.line(`Downloading libtorch for the CPU: ${wish.why}`)
      found =
        (await archive('none was installed, and the CPU archive of PyTorch could be downloaded')) ??
        (await pip('cpu', 'none was installed, and pip could download the torch wheel'))
    }
    if (found) return found
    throw new SetupError(
      `No libtorch was found, and none could be downloaded:\n${passed.map(reason => `  - ${reason}`).join('\n')}`,
      'Connect to the network (pip needs its package index), or install Python and pip, or unpack a libtorch ' +
        `${oldestVersion} or newer by hand and set LIBTORCH to its directory; then run \`npx whetstone setup\`.`,
    )
  })
}

/** A libtorch named by the user is used or is an error: silently using another would hide the mistake. */
function fromEnvironment(env: NodeJS.ProcessEnv): FoundLibtorch | undefined {
  if (!env.LIBTORCH) return undefined
  const named = resolve(env.LIBTORCH)
  const inner = ['torch', 'libtorch'].map(name => join(named, name)).find(path => existsSync(join(path, 'lib')))
  const inspection = inspectLibtorch(!existsSync(join(named, 'lib')) && inner ? inner : named)
  if (inspection.kind === 'usable') return { ...inspection.libtorch, source: 'LIBTORCH', why: 'LIBTORCH names it' }
  throw new SetupError(
    `LIBTORCH is set to ${env.LIBTORCH}, but that libtorch cannot be used: ${inspection.reason}.`,
    `Set it to the directory of a libtorch ${oldestVersion} or newer (with include/ and lib/), or unset it to download one.`,
  )
}
