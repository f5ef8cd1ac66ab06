import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isSystemError } from '../errors/index.js'
import { FileWriteError } from '../files/index.js'

/**
 * A file that only grows, by complete pieces: a piece that could not be written completely is removed. If the disk gets full in
 * the middle of a piece, the part is cut off before the next write, so that no line continues a torn one.
 *
 * Calls must not overlap; the owner of the file queues them.
 */
export class AppendFile {
  readonly path: string
  readonly #handle: FileHandle
  #size: number
  /** Whether there may be bytes beyond `#size`. */
  #torn = false

  private constructor(path: string, handle: FileHandle, size: number) {
    this.path = path
    this.#handle = handle
    this.#size = size
  }

  /** Opens or makes the file. What lies beyond `size` bytes is cut off; all is kept where it is not given. */
  static async open(path: string, { size }: { size?: number } = {}): Promise<AppendFile> {
    return attributed(path, async () => {
      const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644)
      try {
        const found = (await handle.stat()).size
        const file = new AppendFile(path, handle, Math.min(found, size ?? found))
        if (file.#size < found) await handle.truncate(file.#size)
        return file
      } catch (error) {
        await handle.close()
        throw error
      }
    })
  }

  /** Bytes of whole pieces. */
  get size(): number {
    return this.#size
  }

  /** Adds a piece. A {@link FileWriteError} says that nothing of it counts; a later call may succeed. */
  async append(bytes: Uint8Array): Promise<void> {
    await this.#append(bytes, { durable: false })
  }

  /** As `append`, and it is on the disk when the promise resolves. */
  async appendDurably(bytes: Uint8Array): Promise<void> {
    await this.#append(bytes, { durable: true })
  }

  async #append(bytes: Uint8Array, { durable }: { durable: boolean }): Promise<void> {
    await attributed(this.path, async () => {
      await this.repair()
      this.#torn = true
      try {
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#size + at)
          at += bytesWritten
        }
        // After a failed sync the kernel may have dropped the pages while reads still show them: the piece does not count.
        if (durable) await this.#handle.datasync()
      } catch (error) {
        // Tried at once, so that readers do not meet the torn piece, and again before the next one where it fails.
        await this.repair().catch(() => {})
        throw error
      }
      this.#size += bytes.length
      this.#torn = false
    })
  }

  /** Cuts off what a failed append left. */
  async repair(): Promise<void> {
    if (!this.#torn) return
    await attributed(this.path, () => this.#handle.truncate(this.#size))
    this.#torn = false
  }

  async sync(): Promise<void> {
    await attributed(this.path, async () => {
      await this.repair()
      await this.#handle.datasync()
    })
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** Errors of the file system, with the name of the file and what to do. */
export async function attributed<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isSystemError(error) ? new FileWriteError(path, error) : error
  }
}
