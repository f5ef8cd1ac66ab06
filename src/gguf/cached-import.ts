/**
 * GGUF files where a model directory is expected: each content is imported once, into a directory of the cache that is named after its
 * checksum. A file that changes is another content. The model in it has the name of the file, which adapters and cards show.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import { systemProblem } from '../errors/index.js'
import { cacheDirectory, fileSha256, recoverDirectory, writeDirectoryAtomic, writeFileAtomic } from '../files/index.js'
import { GgufError } from './errors.js'
import { partPaths } from './file.js'
import { importGguf } from './import.js'

/** Counts changes of what an import writes: directories of another one are made again. */
const edition = 2
const recordName = 'import.json'

/** The name of the model, and name and size of every file of it. */
const record = z.object({ edition: z.literal(edition), name: z.string(), files: z.record(z.string(), z.number()) })

interface CachedImport {
  readonly directory: string
  /** SHA-256 of the file; of a model in parts, that of the checksums of its parts. */
  readonly sha256: string
}

interface CachedImportOptions {
  readonly signal?: AbortSignal | undefined
  /** Called where the file has to be imported. */
  readonly onImport?: (() => void) | undefined
  readonly onProgress?: ((progress: { bytesDone: number; bytesTotal: number }) => void) | undefined
  readonly cache?: string
}

/** The directory of a GGUF file's model. */
export async function cachedImport(path: string, options: CachedImportOptions = {}): Promise<CachedImport> {
  const { signal, onImport, onProgress, cache = cacheDirectory() } = options
  const folder = join(cache, 'gguf')
  const sha256 = await checksumOf(path, folder)
  const directory = join(folder, sha256.slice(0, 32))
  await recoverDirectory(directory)
  const there = await wholeModel(directory)
  const name = there ?? modelName(path)
  if (there === undefined) {
    onImport?.()
    await mkdir(folder, { recursive: true })
    // Whole before it has its name: another process may look for it at any time.
    await writeDirectoryAtomic(
      directory,
      async at => {
        const out = join(at, name)
        await importGguf(path, { out, signal, onProgress })
        await writeFile(join(at, recordName), JSON.stringify({ edition, name, files: await sizesIn(out) }))
      },
      { replaces: () => true },
    )
  }
  return { directory: join(directory, name), sha256 }
}

/** `mine` of `mine.gguf` and of `mine-00001-of-00002.gguf`. */
function modelName(path: string): string {
  const stem = basename(path)
    .replace(/\.gguf$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
  return /^\w[\w.-]*$/.test(stem) && stem !== recordName ? stem : 'model'
}

/** The name of the model that a directory holds, where it holds all of its files. */
async function wholeModel(directory: string): Promise<string | undefined> {
  const read = record.safeParse(
    await readFile(join(directory, recordName), 'utf8')
      .then(JSON.parse)
      .catch(() => undefined),
  )
  if (!read.success) return undefined
  const { name, files } = read.data
  return JSON.stringify(await sizesIn(join(directory, name))) === JSON.stringify(files) ? name : undefined
}

async function sizesIn(directory: string): Promise<Record<string, number>> {
  const names = await readdir(directory, { recursive: true }).catch((): string[] => [])
  const sizes: Record<string, number> = {}
  for (const name of names.sort()) {
    const found = await stat(join(directory, name))
    if (found.isFile()) sizes[name] = found.size
  }
  return sizes
}

async function checksumOf(path: string, folder: string): Promise<string> {
  const sums: string[] = []
  for (const part of partPaths(resolve(path))) sums.push(await partChecksum(part, folder))
  return sums.length === 1 ? sums[0]! : createHash('sha256').update(sums.join('\n')).digest('hex')
}

/** Large files are read once, as long as neither their size nor their time changes. */
async function partChecksum(path: string, folder: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(cause => {
    throw new GgufError(`${path} cannot be opened: ${systemProblem(cause, 'read')}`, { cause })
  })
  if (!found.isFile()) throw new GgufError(`${path} cannot be opened: it is not a regular file`)
  const identity = [path, found.size, found.mtimeNs, found.ctimeNs, found.ino].join('\n')
  const known = join(folder, 'checksums', createHash('sha256').update(identity).digest('hex').slice(0, 32))
  const kept = await readFile(known, 'utf8').catch(() => '')
  if (/^[0-9a-f]{64}$/.test(kept)) return kept
  const sum = await fileSha256(path)
  await mkdir(join(folder, 'checksums'), { recursive: true })
  await writeFileAtomic(known, sum)
  return sum
}
