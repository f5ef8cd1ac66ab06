import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError, systemProblem } from '../errors/index.js'

/**
 * Checks that a directory exists or can be created, before any work is done for it: the existing part of its path is directories,
 * and the last one is writable. Creates nothing. A problem is an {@link InputError} that names the path.
 */
export async function checkNewDirectory(path: string): Promise<void> {
  const found = await nearest(resolve(path), path)
  const { type } = await statfs(found)
  if (found !== resolve(path) && kernelFileSystems.has(type))
    throw new InputError(`${path}: cannot create a directory; choose another place`)
  await access(found, constants.W_OK).catch((cause: NodeJS.ErrnoException) => {
    throw new InputError(`${path}: ${systemProblem(cause, 'write')}`, { cause })
  })
}

/** File system types of Linux for /proc and /sys, which claim to be writable. */
const kernelFileSystems: ReadonlySet<number> = new Set([0x9fa0, 0x62656572])

/** The directory itself, or the first above it that is there. */
async function nearest(at: string, path: string): Promise<string> {
  const found = await stat(at).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw new InputError(`${path}: ${systemProblem(cause, 'read')}`, { cause })
  })
  if (!found) return nearest(dirname(at), path)
  if (found.isDirectory()) return at
  const which = at === resolve(path) ? 'it is a file' : `${at} is a file`
  throw new InputError(`${path}: ${which}, and a directory is needed`)
}
