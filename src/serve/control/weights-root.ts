/**
 * The only directory that clients may load weights from. A path is checked as text before the disk is read, so that clients learn nothing
 * about other files, and again after all symbolic links in it, and in its directory, were followed.
 */
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { InputError } from '../../errors/index.js'
import { ApiError, badRequest } from '../errors.js'

export class WeightsRoot {
  private constructor(
    /** The given path, and the same with links followed. */
    private readonly given: string,
    private readonly real: string,
  ) {}

  static async open(directory: string): Promise<WeightsRoot> {
    const given = resolve(directory)
    const real = await realpath(given).catch(() => undefined)
    if (real === undefined || !(await stat(real)).isDirectory())
      throw new InputError(`the root of weights ${directory} is not a directory`)
    return new WeightsRoot(given, real)
  }

  /** The real path of a directory inside. `path`: absolute, or relative to the root. */
  async resolve(path: string): Promise<string> {
    if (path === '' || path.includes('\0')) throw badRequest('expected the path of a directory.')
    const asked = resolve(this.given, path)
    if (!isInside(this.given, asked) && !isInside(this.real, asked)) throw outside(path)
    const found = await realpath(asked).catch(() => undefined)
    if (found === undefined) throw new ApiError(404, `${path} does not exist.`)
    if (!isInside(this.real, found)) throw outside(path)
    if (!(await stat(found)).isDirectory()) throw badRequest(`${path} is not a directory.`)
    await this.refuseStrays(found, path)
    return found
  }

  /** Refuses links to files outside. */
  private async refuseStrays(directory: string, path: string): Promise<void> {
    for (const entry of await readdir(directory)) {
      const at = join(directory, entry)
      if (!(await lstat(at)).isSymbolicLink()) continue
      const target = await realpath(at).catch(() => undefined)
      if (target === undefined || !isInside(this.real, target)) throw outside(join(path, entry))
    }
  }
}

const isInside = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
}

const outside = (path: string): ApiError =>
  new ApiError(403, `${path} is not under --weights-root, the directory for weights.`)
