import { createHash } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BrokenArchiveError, type Zip, type ZipEntry } from './zip.js'

interface UnpackOptions {
  zip: Zip
  into: string
  /** Where an entry goes, relative to `into`; undefined leaves it out. */
  place: (name: string) => string | undefined
  /** SHA-256 in base64url by entry name. When given, an entry without one is refused. */
  digests?: ReadonlyMap<string, string>
  onBytes?: (written: number, total: number) => void
  signal: AbortSignal
}

/** Writes the chosen entries, checking each byte on its way. The caller unpacks into a directory it throws away on failure. */
export async function unpack({ zip, into, place, digests, onBytes, signal }: UnpackOptions): Promise<void> {
  const chosen = zip.entries.flatMap(entry => {
    const target = entry.directory ? undefined : place(entry.name)
    return target === undefined ? [] : [{ entry, target: join(into, target) }]
  })
  for (const folder of new Set(chosen.map(({ target }) => dirname(target)))) await mkdir(folder, { recursive: true })

  const total = chosen.reduce((sum, { entry }) => sum + entry.size, 0)
  let written = 0
  const queue = chosen.values()
  const work = async () => {
    for (const { entry, target } of queue) {
      signal.throwIfAborted()
      await write(entry, target)
    }
  }

  async function write(entry: ZipEntry, target: string): Promise<void> {
    const hash = digests && createHash('sha256')
    const file = await open(target, 'wx', entry.executable ? 0o755 : 0o644)
    try {
      for await (const chunk of zip.read(entry)) {
        signal.throwIfAborted()
        hash?.update(chunk)
        await file.writeFile(chunk)
        written += chunk.length
        onBytes?.(written, total)
      }
    } finally {
      await file.close()
    }
    if (hash && hash.digest('base64url') !== digests?.get(entry.name))
      throw new BrokenArchiveError(`its entry ${JSON.stringify(entry.name)} is not the one its RECORD lists`)
  }

  // A few at a time: thousands of small headers wait on the disk, while one large library keeps one core inflating.
  const results = await Promise.allSettled(Array.from({ length: 4 }, work))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
