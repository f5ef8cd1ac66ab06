/** The files that a config means: paths and patterns, relative to where it lies. */
import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { systemProblem } from '../errors/index.js'
import { DataError } from './errors.js'
import { dataFolderFiles } from './folders/data-folder.js'
import type { DataSource, DataSpec } from './options.js'
import { isPattern, segmentPattern } from './patterns.js'

export interface SourceFile {
  readonly path: string
  /** The path for messages: relative to the config if it is in the same directory. */
  readonly shown: string
  /** Which source of the config it is of. */
  readonly source: number
}

export interface SourceFiles {
  readonly sources: readonly DataSource[]
  /** By source, then by name. */
  readonly files: readonly SourceFile[]
}

export async function findSourceFiles(spec: DataSpec, baseDirectory: string): Promise<SourceFiles> {
  const list = Array.isArray(spec) ? spec : [spec]
  const sources = list.map(one => (typeof one === 'string' ? { path: one } : one))
  const files: SourceFile[] = []
  for (const [source, { path }] of sources.entries()) {
    for (const file of await filesOf(path, baseDirectory)) {
      const first = files.find(other => other.path === file)
      if (first)
        throw new DataError(`${first.shown} is given twice; give it once, with weight: 2 to use its rows twice`)
      files.push({ path: file, shown: shownPath(file, baseDirectory), source })
    }
  }
  return { sources, files }
}

/** A path that exists is used literally, also if it has brackets or a colon; `FOLDER:NAME` is a part of a data set. */
async function filesOf(path: string, baseDirectory: string): Promise<readonly string[]> {
  const full = resolve(baseDirectory, path)
  const there = await stat(full).catch(() => undefined)
  if (there?.isDirectory()) return (await dataFolderFiles(full, {}, shownPath(full, baseDirectory) || full)).files
  if (there && !there.isFile())
    throw new DataError(
      `${path} is a pipe or a device, and the run reads rows more than once: write them to a file first`,
    )
  if (there) return [full]
  const part = await partOfFolder(full)
  if (part) return (await dataFolderFiles(part.folder, part, shownPath(part.folder, baseDirectory))).files
  if (!isPattern(path)) return [full]
  const found = await matching(path, baseDirectory)
  if (found.length === 0)
    throw new DataError(
      `${path}: no file matches${isAbsolute(path) ? '; check the pattern and its folder' : ` in ${resolve(baseDirectory)}; patterns are relative to it`}`,
    )
  return found
}

/** `FOLDER:CONFIG/SPLIT`, `FOLDER:CONFIG` or `FOLDER:SPLIT`, where the folder exists. */
async function partOfFolder(path: string): Promise<{ folder: string; name: string } | undefined> {
  for (let at = path.lastIndexOf(':'); at > 0; at = path.lastIndexOf(':', at - 1)) {
    const folder = path.slice(0, at)
    const name = path.slice(at + 1)
    const there = name === '' ? undefined : await stat(folder).catch(() => undefined)
    if (there?.isDirectory()) return { folder, name }
    if (there?.isFile()) throw new DataError(`${folder} is a file, and has no part ${name}; only folders have splits`)
  }
  return undefined
}

/** Whether a path is `FOLDER:NAME` of a folder that exists. */
export function isPartOfFolder(path: string): boolean {
  for (let at = path.lastIndexOf(':'); at > 0; at = path.lastIndexOf(':', at - 1))
    if (statSync(path.slice(0, at), { throwIfNoEntry: false })?.isDirectory()) return true
  return false
}

function shownPath(file: string, baseDirectory: string): string {
  const beside = relative(resolve(baseDirectory), file)
  return beside.startsWith('..') || isAbsolute(beside) ? file : beside
}

/**
 * The files that match a pattern, in order. Written here because Node 20 has no glob of its own. `*` and `?` stay within a
 * name, `**` goes through folders, `{a,b}` is either, `[0-9]` a character; names that begin with a dot have to be asked for.
 */
async function matching(pattern: string, baseDirectory: string): Promise<string[]> {
  const segments = resolve(baseDirectory, pattern).split(sep)
  const first = segments.findIndex(isPattern)
  const folder = segments.slice(0, first).join(sep) || sep
  const found: string[] = []
  await walk(folder, segments.slice(first), found)
  return [...new Set(found)].sort()
}

async function walk(folder: string, [segment, ...rest]: readonly string[], found: string[]): Promise<void> {
  if (segment === undefined) return
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw new DataError(`${folder}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  if (segment === '**') {
    await walk(folder, rest, found)
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        await walk(resolve(folder, entry.name), [segment, ...rest], found)
    return
  }
  const matches = segmentPattern(segment)
  for (const entry of entries) {
    if (!matches.test(entry.name) || (entry.name.startsWith('.') && !segment.startsWith('.'))) continue
    const path = resolve(folder, entry.name)
    if (rest.length > 0) await walk(path, rest, found)
    else if (!entry.isDirectory()) found.push(path)
  }
}
