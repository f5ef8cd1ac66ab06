import { AppendFile } from './append-file.js'

/** How long a line may wait for others before it is written. */
const flushAfterMs = 250

/**
 * A buffered log: a call only adds to an array; lines are written together, in order, a little later. If writing fails (a full
 * disk), lines stay and are tried again with the next; `flush` reports the error.
 */
export class LogFile {
  readonly #file: AppendFile
  #pending: Uint8Array[] = []
  #timer: NodeJS.Timeout | undefined
  /** The writes so far, one after another; never rejects. */
  #writing: Promise<void> = Promise.resolve()
  #failure: unknown

  private constructor(file: AppendFile) {
    this.#file = file
  }

  static async open(path: string): Promise<LogFile> {
    return new LogFile(await AppendFile.open(path))
  }

  write(line: string | Uint8Array): void {
    this.#pending.push(typeof line === 'string' ? Buffer.from(line) : line)
    // Unreferenced: a process that has nothing else to do ends by `close`, not by this timer.
    this.#timer ??= setTimeout(() => this.#drain(), flushAfterMs).unref()
  }

  /** Bytes in the file; after `flush`, those of all lines. */
  get size(): number {
    return this.#file.size
  }

  /** Resolves when every line is in the file and the file on the disk; rejects with a FileWriteError where one could not be written. */
  async flush(): Promise<void> {
    this.#drain()
    const synced = this.#writing.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      await this.#file.sync()
    })
    // In the queue too: the file does one thing at a time.
    this.#writing = synced.catch(() => {})
    await synced
  }

  async close(): Promise<void> {
    try {
      await this.flush()
    } finally {
      clearTimeout(this.#timer)
      await this.#file.close()
    }
  }

  #drain(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(async () => {
      const lines = this.#pending
      if (lines.length === 0) return
      this.#pending = []
      try {
        await this.#file.append(Buffer.concat(lines))
        this.#failure = undefined
      } catch (error) {
        this.#pending = [...lines, ...this.#pending]
        this.#failure = error
      }
    })
  }
}
