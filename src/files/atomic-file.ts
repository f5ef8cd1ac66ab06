import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type ErrorCode, isSystemError, systemProblem, WhetstoneError } from '../errors/index.js'
import { leftoversOf, removeDead, temporaryName } from './temporary.js'

/** A file could not be put in place. The previous file, if there was one, is untouched. */
export class FileWriteError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_FILE_WRITE'
  override name = 'FileWriteError'
  readonly path: string
  /** The operating system's code, such as `ENOSPC`. */
  readonly errno: string | undefined

  constructor(path: string, cause: NodeJS.ErrnoException) {
    super(`cannot write ${path}: ${systemProblem(cause, 'write')}`, { cause })
    this.path = path
    this.errno = cause.code
  }
}

/** Contents of the file: bytes, or a function that writes to the open temporary file. */
type FileContent = string | Uint8Array | ((file: FileHandle) => Promise<void>)

/**
 * Replaces a file so that every reader, and every process that starts after a crash or a power cut, sees either the whole old
 * file or the whole new one: temporary file in the same directory, fsync, rename, fsync of the directory.
 *
 * On failure the temporary file is removed. Only a killed process can leave one behind, under the name {@link temporaryName} gives;
 * the next write of the file removes it.
 * A symbolic link at `path` is replaced, not followed. What a content function throws comes out unchanged,
 * except that an error of the file system becomes a {@link FileWriteError}.
 */
export async function writeFileAtomic(path: string, content: FileContent): Promise<void> {
  const directory = dirname(path)
  const temporary = join(directory, temporaryName(basename(path)))
  try {
    await removeDead(directory, await leftoversOf(directory, basename(path)))
    // 'wx': a name that exists already belongs to another writer.
    const file = await open(temporary, 'wx')
    try {
      try {
        if (typeof content === 'function') await content(file)
        else await file.writeFile(content)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, path)
    } catch (error) {
      // The first error is the one worth reporting; a failing clean-up usually has the same cause.
      await unlink(temporary).catch(() => {})
      throw error
    }
    await syncDirectory(directory)
  } catch (error) {
    throw isSystemError(error) ? new FileWriteError(path, error) : error
  }
}

/** Makes renames and removals inside a directory survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot open a directory as a file; NTFS journals the rename itself.
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } catch (error) {
    // Some network and FUSE file systems have no fsync for directories: nothing more can be done there.
    if (!isSystemError(error) || !['EINVAL', 'ENOTSUP', 'ENOSYS'].includes(error.code ?? '')) throw error
  } finally {
    await handle.close()
  }
}
