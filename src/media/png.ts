/** Pixels as a PNG: what is kept beside a run, and what servers get. It loses nothing. */
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { MediaPixels } from '../sequence/index.js'

const compress = promisify(deflate)
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

interface Rgb {
  /** Red, green and blue of each pixel, row by row. */
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
}

/** Compressed outside of the event loop. */
export async function encodePng({ data, width, height }: Rgb): Promise<Buffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits a channel, red green blue.
  header.set([8, 2, 0, 0, 0], 8)
  const stride = width * 3
  const rows = Buffer.alloc(height * (1 + stride))
  for (let row = 0; row < height; row++) {
    const at = row * (1 + stride) + 1
    // The filter "sub": differences to the pixel on the left compress better than pixels.
    rows[at - 1] = 1
    for (let i = 0; i < stride; i++) {
      const value = data[row * stride + i]!
      rows[at + i] = i < 3 ? value : value - data[row * stride + i - 3]!
    }
  }
  const packed = await compress(rows, { level: 3 })
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', packed), chunk('IEND', Buffer.alloc(0))])
}

/** The frames of an image or a video, each as a picture of its own. The last step of a video may have fewer than its patches. */
export function framesOf({ frames, grid }: MediaPixels, { patchSize }: { readonly patchSize: number }): Rgb[] {
  const [height, width] = [grid[1] * patchSize, grid[2] * patchSize]
  const size = width * height * 3
  return Array.from({ length: frames.length / size }, (_, i) => ({
    data: frames.subarray(i * size, (i + 1) * size),
    width,
    height,
  }))
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
