/** The drawing as a PNG file, in its light colours. */
import { deflateSync } from 'node:zlib'
import { pngFile } from '../files/index.js'
import { Canvas } from './canvas.js'
import type { Drawing } from './drawing.js'

export function toPng(drawing: Drawing): Buffer {
  const canvas = new Canvas(drawing)
  for (const shape of drawing.shapes) canvas.draw(shape)
  return encode(canvas)
}

function encode({ width, height, rgb }: Canvas): Buffer {
  const rows = Buffer.alloc(height * (1 + width * 3))
  // The byte before each row says that it is stored as it is.
  for (let row = 0; row < height; row++)
    rows.set(rgb.subarray(row * width * 3, (row + 1) * width * 3), row * (1 + width * 3) + 1)
  return pngFile({ width, height, rows: deflateSync(rows) })
}
