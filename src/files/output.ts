import { constants, type Stats } from 'node:fs'
import { access, type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InputError, isSystemError, systemProblem } from '../errors/index.js'
import { FileWriteError, writeFileAtomic } from './atomic-file.js'

/** The output of a command: a file that appears when it is complete, or a stream. */
export interface Output {
  /** For messages. */
  readonly name: string
  readonly kind: 'file' | 'stream'
  /** A sentence about the state of the output after an interruption. */
  readonly interrupted: string
  /** Calls `content` with a write function; the file appears when it is done, and not if it throws. */
  write(content: OutputContent, options: { signal: AbortSignal }): Promise<void>
}

type OutputContent = (write: (text: string) => Promise<void>) => Promise<void>

export interface OutputOptions {
  /** Files that are read while the output is written. */
  inputs: readonly string[]
  /** Directories that the output must not be in, such as the model directory. */
  directories: readonly string[]
}

/**
 * Resolves the path of an output, before any work is done for it.
 *
 * - `-` and `/dev/stdout`, other names of open files (`/dev/fd/3`), pipes with a name and devices are streamed to.
 * - A symbolic link stands for the file it leads to: that one is replaced, and the link stays.
 * - A file that is an input too, or that would lie in one of `directories`, is refused.
 */
export async function openOutput(path: string, options: OutputOptions): Promise<Output> {
  if (path === '-' || path === '/dev/stdout') return standardOutput()
  const target = await followLinks(path)
  const found = await stat(target).catch(() => undefined)
  if (found?.isDirectory()) throw new InputError(`${path} is a directory`)
  for (const input of options.inputs)
    if (await isSameFile(found, input)) throw new InputError(`${path} is also the input; give the output another name`)
  // The name of an open file: replacing its target would leave the program that opened it with the old file.
  if (/^\/(dev\/fd|proc\/[^/]+\/fd)\//.test(resolve(path)) || (found && !found.isFile())) return pathStream(path)
  const folder = dirname(target)
  await checkFolder(folder).catch(cause => {
    throw new InputError(`${path}: ${systemProblem(cause, 'write')}`, { cause })
  })
  for (const directory of options.directories) {
    const inside = await realpath(directory).catch(() => resolve(directory))
    if (target.startsWith(inside + sep))
      throw new InputError(`${path} is inside the input directory ${directory}; choose another output`)
  }
  return {
    name: path,
    kind: 'file',
    interrupted: `${path} was not written.`,
    write: content => writeFileAtomic(target, handle => content(text => handle.appendFile(text))),
  }
}

/** Whether files can be made in it. */
async function checkFolder(folder: string): Promise<void> {
  const found = await stat(folder)
  if (!found.isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' })
  await access(folder, constants.W_OK)
}

/** The path without links, of a file that need not exist. */
async function followLinks(path: string, left = 40): Promise<string> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSymbolicLink()) {
    const exists = await realpath(path).catch((error: NodeJS.ErrnoException) => error.code ?? '')
    if (exists === 'ELOOP' || left === 0) throw new InputError(`${path}: a symbolic link that leads back to itself`)
    if (exists.startsWith(sep)) return exists
    return followLinks(resolve(dirname(path), await readlink(path)), left - 1)
  }
  const folder = dirname(resolve(path))
  return join(await realpath(folder).catch(() => folder), basename(resolve(path)))
}

async function isSameFile(found: Stats | undefined, other: string): Promise<boolean> {
  const second = await stat(other).catch(() => undefined)
  return found !== undefined && found.dev === second?.dev && found.ino === second.ino
}

function standardOutput(): Output {
  const name = 'standard output'
  return {
    name,
    kind: 'stream',
    interrupted: `The output to ${name} is incomplete.`,
    async write(content) {
      const { stdout } = process
      // The error comes to the write that failed; without a listener it would also end the process.
      const ignore = (): void => {}
      stdout.on('error', ignore)
      try {
        await content(
          text =>
            new Promise((done, fail) => {
              stdout.write(text, error => (error ? fail(new FileWriteError(name, error)) : done()))
            }),
        )
      } finally {
        stdout.off('error', ignore)
      }
    },
  }
}

function pathStream(path: string): Output {
  const attribute = (error: unknown): never => {
    throw isSystemError(error) ? new FileWriteError(path, error) : error
  }
  return {
    name: path,
    kind: 'stream',
    interrupted: `The output to ${path} is incomplete.`,
    async write(content, { signal }) {
      const handle = await openForReader(path, signal).catch(attribute)
      try {
        await content(text => handle.appendFile(text).catch(attribute))
      } finally {
        await handle.close()
      }
    },
  }
}

/**
 * Opens a pipe once it has a reader. Waiting inside `open` would block a thread that no signal can stop, so this polls without
 * waiting; that handle stays open until the lasting one is, or the reader would see an end.
 */
async function openForReader(path: string, signal: AbortSignal): Promise<FileHandle> {
  while (true) {
    signal.throwIfAborted()
    const probe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENXIO') throw error
    })
    if (!probe) {
      await sleep(50, undefined, { signal })
      continue
    }
    try {
      return await open(path, 'w')
    } finally {
      await probe.close()
    }
  }
}
