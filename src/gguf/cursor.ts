/**
 * Reads the head of a file from front to back. Every length is compared with what is left of the file before memory is taken
 * for it, so that a damaged or hostile file costs an error and nothing else.
 */
import type { FileHandle } from 'node:fs/promises'
import { systemProblem } from '../errors/index.js'
import { GgufError } from './errors.js'

/** Bytes of a read. The event loop turns between two. */
const pieceBytes = 1 << 16

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class Cursor {
  #buffer: Buffer = Buffer.alloc(0)
  #at = 0
  /** Where the buffer begins in the file. */
  #start = 0

  constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    readonly fileBytes: number,
  ) {}

  /** The position in the file. */
  get position(): number {
    return this.#start + this.#at
  }

  get bytesLeft(): number {
    return this.fileBytes - this.position
  }

  /** Waits until `bytes` can be taken. False, without a promise, where they already can. */
  fill(bytes: number, what: string): Promise<void> | false {
    if (this.#buffer.length - this.#at >= bytes) return false
    if (bytes > this.bytesLeft)
      throw new GgufError(
        `${this.path} ends inside ${what}: it needs ${bytes} bytes, and ${this.bytesLeft} are left. Is the download complete?`,
      )
    return this.#read(bytes)
  }

  async #read(bytes: number): Promise<void> {
    const kept = this.#buffer.subarray(this.#at)
    const wanted = Math.min(Math.max(bytes, pieceBytes), this.bytesLeft)
    const buffer = Buffer.allocUnsafe(wanted)
    kept.copy(buffer)
    this.#start = this.position
    this.#at = 0
    let filled = kept.length
    while (filled < wanted) {
      const { bytesRead } = await this.handle
        .read(buffer, filled, wanted - filled, this.#start + filled)
        .catch(cause => {
          throw new GgufError(`${this.path} cannot be read: ${systemProblem(cause, 'read')}`, { cause })
        })
      if (bytesRead === 0) throw new GgufError(`${this.path} ended early: it was changed while it was read`)
      filled += bytesRead
    }
    this.#buffer = buffer
  }

  // What follows takes bytes that `fill` has made sure of.

  #take(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    return at
  }

  u8 = (): number => this.#buffer.readUInt8(this.#take(1))
  i8 = (): number => this.#buffer.readInt8(this.#take(1))
  u16 = (): number => this.#buffer.readUInt16LE(this.#take(2))
  i16 = (): number => this.#buffer.readInt16LE(this.#take(2))
  u32 = (): number => this.#buffer.readUInt32LE(this.#take(4))
  i32 = (): number => this.#buffer.readInt32LE(this.#take(4))
  f32 = (): number => this.#buffer.readFloatLE(this.#take(4))
  f64 = (): number => this.#buffer.readDoubleLE(this.#take(8))
  /** A number that is too large for a double comes out rounded: no count or offset of a real file is. */
  u64 = (): number => Number(this.#buffer.readBigUInt64LE(this.#take(8)))
  i64 = (): number => Number(this.#buffer.readBigInt64LE(this.#take(8)))

  async string(what: string): Promise<string> {
    await this.fill(8, what)
    const bytes = this.u64()
    await this.fill(bytes, what)
    const at = this.#take(bytes)
    try {
      return decoder.decode(this.#buffer.subarray(at, at + bytes))
    } catch (cause) {
      throw new GgufError(`${this.path}: ${what} is not UTF-8 text`, { cause })
    }
  }
}
