/** Fingerprints of files, to decide whether a stage has the same inputs. */
import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { systemProblem, WhetstoneError } from '../errors/index.js'
import { fileSha256 } from '../files/index.js'

/** SHA-256 of a file's bytes. */
export async function fileFingerprint(path: string): Promise<string> {
  return fileSha256(path).catch((cause: Error) => {
    throw new WhetstoneError(`${path}: ${systemProblem(cause, 'read')}`, { cause })
  })
}

/**
 * SHA-256 over the names and bytes of all files of a directory; undefined if it does not exist. Hidden files are ignored. A link
 * counts as its target: the cache of the Hugging Face hub has only links.
 */
export async function directoryFingerprint(directory: string): Promise<string | undefined> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => undefined)
  if (!entries) return undefined
  const files: string[] = []
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    if (await isFileOrLink(entry, path)) files.push(relative(directory, path).split(sep).join('/'))
  }
  const names = files.filter(name => !name.startsWith('.')).sort()
  if (names.length === 0) return undefined
  const hash = createHash('sha256')
  for (const name of names) hash.update(`${name}\n${await fileFingerprint(join(directory, name))}\n`)
  return hash.digest('hex')
}

/** Whether an entry of a directory is a file, or a link to one. */
export async function isFileOrLink(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return stat(path).then(
    found => found.isFile(),
    () => false,
  )
}

/** SHA-256 of a text. */
export function textFingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
