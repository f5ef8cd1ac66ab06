import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isSystemError, systemProblem } from '../errors/index.js'
import { makeDirectory, syncDirectory } from '../files/index.js'
import { AppendFile, attributed } from './append-file.js'
import { RunError } from './errors.js'
import {
  encodeLine,
  JournalReader,
  type JournalRecord,
  type LocatedRecord,
  refuseOtherVersion,
} from './journal-lines.js'

/** How many files stay open: asynchronous training writes to a few iterations at once. */
const openFiles = 4
/** Bytes of a file that are read in one turn of the event loop. */
const pieceSize = 256 * 1024

interface Waiting {
  iteration: number
  line: Buffer
  done: () => void
  fail: (error: unknown) => void
}

/**
 * Records of rollouts, one file per iteration, on the disk before training uses them. Records that arrive together share one
 * write and one fdatasync.
 *
 * @example
 * const journal = new Journal('runs/one/journal')
 * await journal.append(12, { kind: 'sample', promptId: 'row-3', sample: 0, logprobs: Float32Array.of(-0.5, -1.25) })
 * const records = await journal.read(12)
 */
export class Journal {
  readonly directory: string
  /** By iteration; the one used last is at the end. */
  readonly #files = new Map<number, AppendFile>()
  #waiting: Waiting[] = []
  /** What is done to the files, one after another; never rejects. */
  #queue: Promise<void> = Promise.resolve()

  constructor(directory: string) {
    this.directory = directory
  }

  /**
   * Adds a record; it may be changed as soon as the call returns, and is on the disk when the promise resolves. Where that
   * fails (FileWriteError, such as a full disk) it is not in the journal, and a later append may succeed.
   */
  append(iteration: number, record: JournalRecord): Promise<void> {
    const line = encodeLine(record)
    return new Promise((done, fail) => {
      this.#waiting.push({ iteration, line, done, fail })
      // Records that arrive while the files are busy are written with the next group.
      if (this.#waiting.length === 1) void this.#enqueue(() => this.#commit())
    })
  }

  /** The records of an iteration in the order they were appended. */
  async read(iteration: number): Promise<LocatedRecord[]> {
    return this.#enqueue(async () => {
      await this.#files.get(iteration)?.repair()
      const records: LocatedRecord[] = []
      await this.#read(iteration, record => records.push(record))
      return records
    })
  }

  /** The iterations there are, ascending. */
  async iterations(): Promise<number[]> {
    const names = await readdir(this.directory).catch(() => [])
    return names
      .map(name => /^(\d{6,})\.jsonl$/.exec(name)?.[1])
      .filter(digits => digits !== undefined)
      .map(Number)
      .sort((a, b) => a - b)
  }

  /** Throws a JournalVersionError where another version of the format wrote the journal. Reading it does the same. */
  async checkVersion(): Promise<void> {
    const [first] = await this.iterations()
    if (first === undefined) return
    const file = await open(this.#path(first))
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
      refuseOtherVersion(this.#path(first), buffer.subarray(0, bytesRead))
    } finally {
      await file.close()
    }
  }

  /** Removes this iteration and all later ones. */
  async discardFrom(iteration: number): Promise<void> {
    await this.#enqueue(async () => {
      const gone = (await this.iterations()).filter(one => one >= iteration)
      if (gone.length === 0) return
      // The last first: one that is killed on the way leaves no gap.
      for (const one of gone.reverse()) {
        await this.#close(one)
        await attributed(this.#path(one), () => rm(this.#path(one), { force: true }))
      }
      await attributed(this.directory, () => syncDirectory(this.directory))
    })
  }

  async close(): Promise<void> {
    await this.#enqueue(async () => {
      for (const iteration of [...this.#files.keys()]) await this.#close(iteration)
    })
  }

  async #commit(): Promise<void> {
    const group = this.#waiting
    this.#waiting = []
    for (const iteration of new Set(group.map(one => one.iteration))) {
      const records = group.filter(one => one.iteration === iteration)
      try {
        const file = await this.#open(iteration)
        await file.appendDurably(Buffer.concat(records.map(({ line }) => line)))
        for (const { done } of records) done()
      } catch (error) {
        for (const { fail } of records) fail(error)
      }
    }
  }

  async #open(iteration: number): Promise<AppendFile> {
    const held = this.#files.get(iteration)
    if (held) {
      this.#files.delete(iteration)
      this.#files.set(iteration, held)
      return held
    }
    const path = this.#path(iteration)
    const size = await this.#read(iteration)
    if (size === 0) await attributed(path, () => makeDirectory(this.directory))
    // A line that a killed process left unfinished is cut off here.
    const file = await AppendFile.open(path, { size })
    try {
      await attributed(path, () => syncDirectory(this.directory))
    } catch (error) {
      await file.close()
      throw error
    }
    this.#files.set(iteration, file)
    const [oldest] = this.#files.keys()
    if (this.#files.size > openFiles) await this.#close(oldest!)
    return file
  }

  /** The bytes of whole lines; 0 where there is no file. */
  async #read(iteration: number, onRecord?: (record: LocatedRecord) => void): Promise<number> {
    const path = this.#path(iteration)
    const reader = new JournalReader(path, onRecord)
    try {
      for await (const piece of piecesOf(path)) reader.take(piece)
    } catch (error) {
      if (!isSystemError(error)) throw error
      if (error.code === 'ENOENT') return 0
      throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
    }
    reader.end()
    return reader.size
  }

  async #close(iteration: number): Promise<void> {
    await this.#files.get(iteration)?.close()
    this.#files.delete(iteration)
  }

  #path(iteration: number): string {
    return join(this.directory, `${String(iteration).padStart(6, '0')}.jsonl`)
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.then(
      () => {},
      () => {},
    )
    return result
  }
}

/** The bytes of a file. A journal has many small ones: no piece takes more memory than the file has bytes. */
async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    for (let at = 0; at < size; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, size - at))
      const { bytesRead } = await file.read(piece, 0, piece.length, at)
      if (bytesRead === 0) return
      yield piece.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await file.close()
  }
}
