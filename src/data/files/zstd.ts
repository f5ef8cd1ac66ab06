/**
 * Zstandard as bytes arrive, in the memory of one window. `fzstd` decodes a block; the frames are walked here, because `fzstd` neither
 * limits the window, nor compares checksums, nor says where data ends too early. Node's own decoder needs Node 22.15.
 */
import { Decompress } from 'fzstd'
import xxhash from 'xxhash-wasm'
import { ByteQueue } from './byte-queue.js'

/** Longer offsets do not fit into the 25 bits that `fzstd` reads of one. */
const maxWindow = 2 ** 25
const maxBlock = 2 ** 17

interface Frame {
  readonly header: Uint8Array
  readonly window: number
  readonly hasChecksum: boolean
  readonly contentSize: bigint | undefined
}

type Hash = Awaited<ReturnType<typeof xxhash>>['create64']
let hashes: ReturnType<typeof xxhash> | undefined

export class ZstdDecoder {
  readonly #queue = new ByteQueue()
  readonly #walk: Generator<Uint8Array | undefined, void>

  private constructor(hash: Hash) {
    this.#walk = frames(this.#queue, hash)
  }

  static async create(): Promise<ZstdDecoder> {
    hashes ??= xxhash()
    return new ZstdDecoder((await hashes).create64)
  }

  /** Bytes of the input that are decoded. */
  get position(): number {
    return this.#queue.position
  }

  /** What these bytes make possible to decode, a block at a time. An error where they are damaged. */
  *push(bytes: Uint8Array): Generator<Uint8Array, void> {
    this.#queue.push(bytes)
    yield* this.#blocks()
  }

  /** An error where the input ends inside a frame. */
  end(): void {
    this.#queue.end()
    for (const _ of this.#blocks());
  }

  *#blocks(): Generator<Uint8Array, void> {
    for (;;) {
      const { done, value } = this.#walk.next()
      if (done || value === undefined) return
      yield value
    }
  }
}

/** Blocks of all frames; undefined where more bytes are needed. */
function* frames(queue: ByteQueue, hash: Hash): Generator<Uint8Array | undefined, void> {
  while (!(yield* queue.isAtEnd())) {
    const magic = little(yield* queue.take(4))
    if (magic >= 0x184d2a50 && magic <= 0x184d2a5f) {
      for (let left = little(yield* queue.take(4)); left > 0; ) {
        const part = Math.min(left, maxBlock)
        yield* queue.take(part)
        left -= part
      }
      continue
    }
    if (magic !== 0xfd2fb528) throw new Error('the data is damaged')
    yield* blocks(queue, yield* readFrame(queue), hash())
  }
}

function* readFrame(queue: ByteQueue): Generator<undefined, Frame> {
  const [flags] = (yield* queue.take(1)) as Uint8Array & { 0: number }
  const isSingle = (flags & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][flags & 3]!
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!
  const rest = yield* queue.take((isSingle ? 0 : 1) + dictionaryBytes + sizeBytes)
  if ((flags & 8) !== 0) throw new Error('the data is damaged')
  const dictionary = rest.subarray(isSingle ? 0 : 1).subarray(0, dictionaryBytes)
  if (dictionary.some(byte => byte !== 0)) throw new Error('it needs a dictionary; compress it without one')
  const contentSize = sizeBytes === 0 ? undefined : contentSizeOf(rest.subarray(rest.length - sizeBytes))
  const exponent = 10 + (rest[0]! >> 3)
  const window = isSingle ? Number(contentSize) : 2 ** exponent + 2 ** (exponent - 3) * (rest[0]! & 7)
  if (window > maxWindow)
    throw new Error(
      `its window is ${Math.round(window / 2 ** 20)} MiB, more than ${maxWindow / 2 ** 20}; compress it with zstd -19, or a lower level`,
    )
  // The checksum is compared here.
  const header = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, flags & ~4, ...rest)
  return { header, window, hasChecksum: (flags & 4) !== 0, contentSize }
}

function* blocks(
  queue: ByteQueue,
  { header, window, hasChecksum, contentSize }: Frame,
  hash: ReturnType<Hash>,
): Generator<Uint8Array | undefined, void> {
  let decoded: Uint8Array[] = []
  const decoder = new Decompress(part => void (part.length > 0 && decoded.push(part)))
  const limit = Math.min(maxBlock, Math.max(window, 1))
  let before = header
  let size = 0n
  for (let isLast = false; !isLast; ) {
    const start = yield* queue.take(3)
    const bits = little(start)
    isLast = (bits & 1) === 1
    const [kind, length] = [(bits >> 1) & 3, bits >> 3]
    if (kind === 3 || length > limit) throw new Error('the data is damaged')
    const content = yield* queue.take(kind === 1 ? 1 : length)
    // The decoder waits for 18 bytes before it reads a header.
    before = Buffer.concat([before, start, content])
    if (before.length < 18 && !isLast) continue
    try {
      decoder.push(before, isLast)
    } catch (cause) {
      throw new Error('the data is damaged', { cause })
    }
    before = new Uint8Array(0)
    for (const part of decoded) {
      hash.update(part)
      size += BigInt(part.length)
      yield part
    }
    decoded = []
  }
  if (contentSize !== undefined && size !== contentSize) throw new Error('the data is damaged (another size)')
  if (hasChecksum && little(yield* queue.take(4)) !== Number(hash.digest() & 0xffffffffn))
    throw new Error('the data is damaged (another checksum)')
}

function little(bytes: Uint8Array): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0)
}

function contentSizeOf(bytes: Uint8Array): bigint {
  const size = bytes.reduceRight((value, byte) => value * 256n + BigInt(byte), 0n)
  return bytes.length === 2 ? size + 256n : size
}
