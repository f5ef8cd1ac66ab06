/**
 * Directories that are replaced whole. A new directory is filled beside its place under a name of its own, made durable, and
 * put in place by a rename. No rename replaces a directory that has files in it, so the old one steps aside first:
 *
 *   1. `.NAME.OWNER.tmp` is filled and fsynced
 *   2. `NAME` is renamed to `.NAME.OWNER.old`, where there is one
 *   3. `.NAME.OWNER.tmp` is renamed to `NAME`
 *   4. `.NAME.OWNER.old` is removed
 *
 * A process killed between 2 and 3 leaves no `NAME`, but an `.old` beside a `.tmp` that is complete: `recoverDirectory`, which
 * every writer and reader calls first, finishes what it began. The owner in the names tells what a dead process left from what a
 * living one is about to use.
 */
import { lstat, open, readdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InputError, isSystemError, systemProblem } from '../errors/index.js'
import { FileWriteError, syncDirectory } from './atomic-file.js'
import { makeDirectory } from './make-directory.js'
import { type Leftover, leftoversOf, removeDead, temporaryName } from './temporary.js'

interface WriteDirectoryOptions {
  /**
   * Which entries of an existing directory may be deleted with it. Any other entry belongs to the user and stops the write.
   * Default: none; only an empty directory is replaced.
   */
  replaces?: (entry: string) => boolean
}

/**
 * Makes or replaces a directory: every reader sees the complete old one or the complete new one. `fill` writes into the given
 * directory; if it throws, the error is passed on and nothing is left. A symbolic link stays, its target is replaced.
 */
export async function writeDirectoryAtomic<T>(
  directory: string,
  fill: (temporary: string) => Promise<T>,
  { replaces = () => false }: WriteDirectoryOptions = {},
): Promise<T> {
  if (directory === '') throw new InputError('expected the name of a directory, got an empty one')
  const target = await realpath(directory).catch(() => resolve(directory))
  await recoverDirectory(target)
  await refuseForeign(target, replaces)
  const parent = dirname(target)
  const temporary = join(parent, temporaryName(basename(target)))
  try {
    await makeDirectory(temporary)
    try {
      const result = await fill(temporary)
      await syncTree(temporary)
      // Another process may have written there in the meantime.
      await refuseForeign(target, replaces)
      await putInPlace(temporary, target, temporary.replace(/tmp$/, 'old'))
      return result
    } catch (error) {
      await rm(temporary, { recursive: true, force: true })
      throw error
    }
  } catch (error) {
    throw isSystemError(error) ? new FileWriteError(target, error) : error
  }
}

/**
 * Finishes a replacement of this directory by a process that died, and removes its leftovers. If a living process is between two
 * renames, waits for the second.
 */
export async function recoverDirectory(directory: string): Promise<void> {
  const target = await realpath(directory).catch(() => resolve(directory))
  const parent = dirname(target)
  const patience = performance.now() + 2000
  for (;;) {
    const left = await leftoversOf(parent, basename(target))
    const missing = left.length > 0 && !(await exists(target))
    const aside = left.filter(({ kind }) => kind === 'old')
    if (missing && aside.some(({ alive }) => alive) && performance.now() < patience) {
      await sleep(5)
      continue
    }
    if (missing && aside.length > 0) await finish(target, parent, aside[0]!.name, left)
    await removeDead(parent, left)
    return
  }
}

/** Puts the new directory in place, or the old one back where the new one is gone. */
async function finish(target: string, parent: string, old: string, left: readonly Leftover[]): Promise<void> {
  const fresh = old.replace(/old$/, 'tmp')
  const from = left.some(({ name }) => name === fresh) ? fresh : old
  await rename(join(parent, from), target).catch(ignore('ENOENT', 'ENOTEMPTY', 'EEXIST'))
  await syncDirectory(parent)
}

async function putInPlace(temporary: string, target: string, aside: string): Promise<void> {
  const parent = dirname(target)
  // Repeats if another process puts its own directory there in between: the last one stays.
  for (;;) {
    const moved = await rename(target, aside).then(() => true, ignore('ENOENT'))
    if (moved) await syncDirectory(parent)
    const placed = await rename(temporary, target)
      .then(() => true, ignore('ENOTEMPTY', 'EEXIST'))
      .catch(async error => {
        if (moved) await rename(aside, target).catch(() => {})
        throw error
      })
    await syncDirectory(parent)
    await rm(aside, { recursive: true, force: true })
    if (placed) return
  }
}

async function refuseForeign(target: string, replaces: (entry: string) => boolean): Promise<void> {
  const entries = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    const why = error.code === 'ENOTDIR' ? 'it is, or lies in, a file' : systemProblem(error, 'read')
    throw new InputError(`${target} cannot be replaced: ${why}`, { cause: error })
  })
  const foreign = entries.filter(entry => !replaces(entry))
  if (foreign.length === 0) return
  const more = foreign.length > 3 ? ` and ${foreign.length - 3} more` : ''
  throw new InputError(
    `${target} contains ${foreign.slice(0, 3).join(', ')}${more}, and writing would delete it; choose another directory`,
  )
}

/** Files first, then the directories that name them. */
async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else if (entry.isFile()) {
      const file = await open(path, 'r')
      await file.sync().finally(() => file.close())
    }
  }
  await syncDirectory(directory)
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(() => true, ignore('ENOENT'))
}

/** False for an error with one of these codes; rethrows others. */
function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => false {
  return error => {
    if (codes.includes(error.code ?? '')) return false
    throw error
  }
}
