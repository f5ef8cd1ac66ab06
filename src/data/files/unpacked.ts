/**
 * Files whose rows cannot be read in any order (compressed, or by columns) are unpacked once into an unnamed file that disappears
 * with the process.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDirectory, makeDirectory } from '../../files/index.js'
import { DataError } from '../errors.js'

export interface UnpackedFile {
  readonly handle: FileHandle
  /** The SHA-256 of the bytes of the packed file. */
  readonly fingerprint: string
  /** Size of the packed file. */
  readonly bytes: number
}

export interface UnpackOptions {
  readonly shown: string
  readonly signal?: AbortSignal | undefined
  /** Unpacking may stop after so many rows. */
  readonly wanted?: number
}

/** Rows that become lines before others get their turn. */
const batchRows = 500

/** Unpacks with `work` into a new file; the file is closed where that fails. */
export async function unpackInto(shown: string, work: (to: UnpackTarget) => Promise<void>): Promise<FileHandle> {
  const handle = await temporaryFile(shown)
  try {
    await work(new UnpackTarget(handle, shown))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

export class UnpackTarget {
  constructor(
    private readonly handle: FileHandle,
    private readonly shown: string,
  ) {}

  async write(content: string | Uint8Array): Promise<void> {
    await this.handle.appendFile(content).catch((cause: Error) => {
      throw cannotUnpack(this.shown, cause)
    })
  }

  /** A line of JSON for each row. */
  async writeRows(count: number, row: (i: number) => unknown): Promise<void> {
    for (let from = 0; from < count; from += batchRows) {
      let lines = ''
      for (let i = from; i < Math.min(count, from + batchRows); i++) lines += `${JSON.stringify(row(i))}\n`
      await this.write(lines)
    }
  }
}

/** What comes through a pipe or from a device, which can be read only once. */
export async function copyStream(source: FileHandle, { shown, signal }: UnpackOptions): Promise<UnpackedFile> {
  const hash = createHash('sha256')
  let bytes = 0
  const handle = await unpackInto(shown, async to => {
    const stream = source.createReadStream({ autoClose: false, ...(signal ? { signal } : {}) })
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      hash.update(chunk)
      bytes += chunk.length
      await to.write(chunk)
    }
  })
  return { handle, fingerprint: hash.digest('hex'), bytes }
}

/** The SHA-256 of all bytes of a file. */
export async function hashOf(source: FileHandle, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunksOf(source, signal)) hash.update(chunk)
  return hash.digest('hex')
}

export async function* chunksOf(source: FileHandle, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    signal?.throwIfAborted()
    const { bytesRead, buffer } = await source.read(Buffer.allocUnsafeSlow(1 << 18), 0, 1 << 18, at)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Bytes of a file; an error where it ends before them. */
export async function bytesAt(source: FileHandle, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const into = new Uint8Array(length)
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await source.read(into, filled, length - filled, start + filled)
    if (bytesRead === 0) throw new Error(`the file ends too early, at byte ${start + filled}`)
    filled += bytesRead
  }
  return into
}

/**
 * An unlinked file, so that nothing is left however the process ends. It is in the cache directory, because the temporary
 * directory of the system may be in memory.
 */
async function temporaryFile(shown: string): Promise<FileHandle> {
  try {
    await makeDirectory(cacheDirectory())
    const folder = await mkdtemp(join(cacheDirectory(), 'rows-'))
    try {
      return await open(join(folder, 'rows'), 'wx+', 0o600)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } catch (cause) {
    throw cannotUnpack(shown, cause as Error)
  }
}

function cannotUnpack(shown: string, cause: Error): DataError {
  return new DataError(
    `${shown}: cannot be unpacked to ${cacheDirectory()} (${cause.message}); set WHETSTONE_CACHE to a directory with enough space`,
    { cause },
  )
}
