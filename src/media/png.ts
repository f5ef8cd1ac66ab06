/** Pixels as a PNG: what is kept beside a run, and what servers get. It loses nothing. */
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { pngFile } from '../files/index.js'
import type { MediaPixels } from '../sequence/index.js'

const compress = promisify(deflate)

interface Rgb {
  /** Red, green and blue of each pixel, row by row. */
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
}

/** Compressed outside of the event loop. */
export async function encodePng({ data, width, height }: Rgb): Promise<Buffer> {
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
  return pngFile({ width, height, rows: await compress(rows, { level: 3 }) })
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
