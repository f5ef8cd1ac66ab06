/** Text files in gzip or Zstandard, unpacked as a stream. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { DataError } from '../errors.js'
import { chunksOf, type UnpackedFile, type UnpackOptions, unpackInto } from './unpacked.js'
import { ZstdDecoder } from './zstd.js'

export type Compression = 'gzip' | 'Zstandard'

export const compressionEndings: Readonly<Record<string, Compression>> = { '.gz': 'gzip', '.zst': 'Zstandard' }

const magics: readonly { readonly name: Compression | 'zip'; readonly bytes: readonly number[] }[] = [
  { name: 'gzip', bytes: [0x1f, 0x8b] },
  { name: 'Zstandard', bytes: [0x28, 0xb5, 0x2f, 0xfd] },
  { name: 'zip', bytes: [0x50, 0x4b, 0x03, 0x04] },
]

/** What the first bytes of a file say. */
export async function compressionOf(source: FileHandle): Promise<Compression | 'zip' | undefined> {
  const { bytesRead, buffer } = await source.read(Buffer.alloc(4), 0, 4, 0)
  const start = buffer.subarray(0, bytesRead)
  return magics.find(({ bytes }) => bytes.every((byte, i) => start[i] === byte))?.name
}

/** Rows compress by 3 to 20 times; a file that goes beyond this was made to fill disks. */
const maxRatio = 1000
const alwaysAllowed = 2 ** 28

const newline = 10

export async function unpackCompressed(
  source: FileHandle,
  compression: Compression,
  { shown, signal, wanted = Number.POSITIVE_INFINITY }: UnpackOptions,
): Promise<UnpackedFile> {
  const { size } = await source.stat()
  const hash = createHash('sha256')
  const chunks = async function* () {
    for await (const chunk of chunksOf(source, signal)) {
      hash.update(chunk)
      yield chunk
    }
  }
  let [bytes, lines] = [0, 0]
  const handle = await unpackInto(shown, async to => {
    try {
      for await (const part of unpackers[compression](chunks())) {
        bytes += part.length
        if (bytes > Math.max(alwaysAllowed, size * maxRatio))
          throw new DataError(
            `${shown}: unpacks to more than ${maxRatio} times its size; unpack it yourself if that is right`,
          )
        await to.write(part)
        for (let at = part.indexOf(newline); at >= 0; at = part.indexOf(newline, at + 1)) lines++
        if (lines > wanted) return
      }
    } catch (cause) {
      if (cause instanceof DataError || signal?.aborted) throw cause
      throw new DataError(
        `${shown}: not a whole ${compression} file (${reason(cause)}, in line ${lines + 1} of the rows); fetch it again`,
        { cause },
      )
    }
  })
  return { handle, fingerprint: hash.digest('hex'), bytes: size }
}

const unpackers: Readonly<Record<Compression, (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>>> = {
  gzip: async function* (chunks) {
    const gunzip = createGunzip({ chunkSize: 1 << 18 })
    // The loop below gets every error.
    pipeline(Readable.from(chunks), gunzip, () => {})
    try {
      yield* gunzip as AsyncIterable<Uint8Array>
    } catch (cause) {
      throw new Error(`${(cause as Error).message} at byte ${gunzip.bytesWritten}`, { cause })
    }
  },
  Zstandard: async function* (chunks) {
    const decoder = await ZstdDecoder.create()
    try {
      for await (const chunk of chunks) yield* decoder.push(chunk)
      decoder.end()
    } catch (cause) {
      throw new Error(`${(cause as Error).message}, at byte ${decoder.position}`, { cause })
    }
  },
}

const reason = (cause: unknown): string =>
  (cause as Error).message.replace(/^unexpected end of file/, 'the data ends too early,')
