/**
 * Reads a growing file of lines, each line once. The file may be cut (a resume does that to logs), replaced or removed at any time: then
 * everything is read again. A last line without its newline is left for the next time.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { isSystemError, systemProblem } from '../errors/index.js'
import { RunError } from './errors.js'

/** Where a reader is, and the bytes before it: a file that was cut and has grown again has other ones there. */
export interface TailMark {
  readonly offset: number
  /** How many lines lie before it. */
  readonly lines: number
  /** Base64. */
  readonly check: string
}

export interface TailReader {
  /** Everything that was read of the file does not hold any more; its lines come again from the first. */
  restart(): void
  /** `line` from 1. The bytes are those of the line only during the call. */
  line(bytes: Buffer, line: number): void
}

const checkedBytes = 64
const pieceSize = 1 << 20
const newline = 10

export class LogTail {
  #offset: number
  #lines: number
  #check: Buffer

  constructor(
    readonly path: string,
    from?: TailMark,
  ) {
    this.#offset = from?.offset ?? 0
    this.#lines = from?.lines ?? 0
    this.#check = Buffer.from(from?.check ?? '', 'base64')
  }

  get mark(): TailMark {
    return { offset: this.#offset, lines: this.#lines, check: this.#check.toString('base64') }
  }

  /** Reads what is new. Resolves to whether there was anything. */
  async read(reader: TailReader): Promise<boolean> {
    const file = await opened(this.path)
    if (!file) return this.#restart(reader)
    try {
      const { size } = await file.stat()
      let changed = false
      if (size < this.#offset || !(await this.#isSame(file))) changed = this.#restart(reader)
      if (size <= this.#offset) return changed
      return (await this.#readTo(file, size, reader)) || changed
    } catch (error) {
      if (isSystemError(error)) throw new RunError(`${this.path}: ${systemProblem(error, 'read')}`, { cause: error })
      throw error
    } finally {
      await file.close()
    }
  }

  #restart(reader: TailReader): boolean {
    if (this.#offset === 0) return false
    this.#offset = 0
    this.#lines = 0
    this.#check = Buffer.alloc(0)
    reader.restart()
    return true
  }

  async #isSame(file: FileHandle): Promise<boolean> {
    const { length } = this.#check
    if (length === 0) return true
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, this.#offset - length)
    return bytesRead === length && buffer.equals(this.#check)
  }

  async #readTo(file: FileHandle, size: number, reader: TailReader): Promise<boolean> {
    let begun: Buffer[] = []
    let at = this.#offset
    const before = at
    const room = Buffer.allocUnsafe(Math.min(pieceSize, size - at))
    while (at < size) {
      const { bytesRead } = await file.read(room, 0, Math.min(room.length, size - at), at)
      if (bytesRead === 0) break
      at += bytesRead
      const piece = room.subarray(0, bytesRead)
      let from = 0
      for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
        const rest = piece.subarray(from, end)
        const line = begun.length === 0 ? rest : Buffer.concat([...begun, rest])
        begun = []
        from = end + 1
        this.#offset += line.length + 1
        this.#lines++
        reader.line(line, this.#lines)
        this.#check = ending(line)
      }
      if (from < piece.length) begun.push(Buffer.from(piece.subarray(from)))
    }
    return this.#offset > before
  }
}

/** The last bytes of a line with its newline: a copy, so that the piece it lies in can go. */
function ending(line: Buffer): Buffer {
  return Buffer.concat([line.subarray(Math.max(0, line.length + 1 - checkedBytes)), Buffer.of(newline)])
}

async function opened(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined
    throw isSystemError(error)
      ? new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
      : (error as Error)
  }
}
