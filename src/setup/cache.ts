import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheDirectory } from '../files/index.js'
import { bytesText } from '../progress/index.js'
import { attributeDiskError, SetupError } from './errors.js'
import { fetchedVersion, type Inspection, inspectLibtorch } from './libtorch.js'
import type { Platform } from './platform.js'

export type Variant = 'cpu' | 'cuda'

/** The user-level cache: every Whetstone of this user shares one copy of libtorch. */
export interface Cache {
  root: string
  lock: string
  /** The directory a variant lives in once it is complete. Its libtorch is `torch/` in there. */
  entry(variant: Variant): string
  /** A half-downloaded archive waits here to be continued. */
  downloads: string
}

export function openCache(env: NodeJS.ProcessEnv, platform: Platform): Cache {
  const root = cacheDirectory(env)
  return {
    root,
    lock: join(root, 'setup.lock'),
    entry: variant => join(root, `libtorch-${fetchedVersion}-${variant}-${platform}`),
    downloads: join(root, 'downloads'),
  }
}

/** Written last: an entry without it was never finished, however complete it looks. */
const marker = 'complete.json'

export function inspectEntry(cache: Cache, variant: Variant): Inspection | undefined {
  const entry = cache.entry(variant)
  if (!existsSync(entry)) return undefined
  if (!existsSync(join(entry, marker))) return { kind: 'unusable', reason: `${entry} is not complete` }
  return inspectLibtorch(join(entry, 'torch'))
}

/**
 * Makes an entry: `fill` works in a directory that becomes the entry in one rename, or disappears. Call it with the lock held; it
 * removes leftovers of a killed setup first.
 */
export async function createEntry(
  cache: Cache,
  variant: Variant,
  fill: (folder: string) => Promise<object>,
): Promise<void> {
  const entry = cache.entry(variant)
  try {
    await mkdir(cache.root, { recursive: true })
    for (const name of await readdir(cache.root))
      if (name.startsWith('.making-')) await rm(join(cache.root, name), { recursive: true, force: true })
    const folder = await mkdtemp(join(cache.root, '.making-'))
    try {
      const origin = await fill(folder)
      await writeFile(join(folder, marker), `${JSON.stringify({ ...origin, at: new Date().toISOString() }, null, 2)}\n`)
      await rm(entry, { recursive: true, force: true })
      await rename(folder, entry)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } catch (error) {
    throw attributeDiskError(error, cache.root)
  }
}

/** Better before a download of minutes than at the end of it. */
export async function requireSpace(folder: string, bytes: number, free: typeof freeBytes = freeBytes): Promise<void> {
  const available = await free(folder)
  if (available >= bytes) return
  throw new SetupError(
    `Not enough disk space: downloading libtorch needs ${bytesText(bytes)} in ${folder}, and ${bytesText(available)} are free.`,
    'Free some space, or set WHETSTONE_CACHE to a directory on a disk with enough space, and run `npx whetstone setup`.',
  )
}

async function freeBytes(folder: string): Promise<number> {
  let existing = folder
  while (!existsSync(existing)) existing = dirname(existing)
  const { bavail, bsize } = await statfs(existing)
  return bavail * bsize
}
