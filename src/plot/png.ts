/** The drawing as a PNG file. Lines are drawn by their distance to each pixel's centre, which makes their edges smooth. */
import { crc32, deflateSync } from 'node:zlib'
import type { Box, Drawing, Line } from './drawing.js'

/** Pixels for each unit of the drawing: sharp on screens of high density. */
const scale = 2

export function toPng({ width, height, shapes }: Drawing): Buffer {
  const canvas = new Canvas(Math.ceil(width * scale), Math.ceil(height * scale))
  for (const shape of shapes)
    if (shape.kind === 'box') canvas.box(shape)
    else canvas.line(shape)
  return encode(canvas)
}

class Canvas {
  readonly rgb: Uint8Array
  /** How much of each pixel the line being drawn covers: where its pieces meet they must not darken each other. */
  readonly #cover: Float32Array

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.rgb = new Uint8Array(width * height * 3).fill(255)
    this.#cover = new Float32Array(width * height)
  }

  box({ x, y, width, height, colour }: Box): void {
    const paint = channels(colour)
    for (let row = Math.round(y * scale); row < Math.round((y + height) * scale); row++)
      for (let column = Math.round(x * scale); column < Math.round((x + width) * scale); column++)
        this.#blend(row * this.width + column, paint, 1)
  }

  line({ points, width, colour, opacity }: Line): void {
    const paint = channels(colour)
    const radius = (width * scale) / 2
    const touched: number[] = []
    points.forEach((to, index) => {
      const from = points[Math.max(0, index - 1)]!
      if (index === 0 && points.length > 1) return
      this.#segment([from.x * scale, from.y * scale, to.x * scale, to.y * scale], radius, touched)
    })
    for (const pixel of touched) {
      this.#blend(pixel, paint, this.#cover[pixel]! * opacity)
      this.#cover[pixel] = 0
    }
  }

  #segment([x0, y0, x1, y1]: readonly [number, number, number, number], radius: number, touched: number[]): void {
    const reach = radius + 1
    const [dx, dy] = [x1 - x0, y1 - y0]
    const squared = dx * dx + dy * dy
    const last = {
      row: Math.min(this.height - 1, Math.ceil(Math.max(y0, y1) + reach)),
      column: Math.min(this.width - 1, Math.ceil(Math.max(x0, x1) + reach)),
    }
    for (let row = Math.max(0, Math.floor(Math.min(y0, y1) - reach)); row <= last.row; row++)
      for (let column = Math.max(0, Math.floor(Math.min(x0, x1) - reach)); column <= last.column; column++) {
        const [px, py] = [column + 0.5 - x0, row + 0.5 - y0]
        const along = squared === 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / squared))
        const cover = Math.min(1, radius + 0.5 - Math.hypot(px - along * dx, py - along * dy))
        const pixel = row * this.width + column
        if (cover <= this.#cover[pixel]!) continue
        if (this.#cover[pixel] === 0) touched.push(pixel)
        this.#cover[pixel] = cover
      }
  }

  #blend(pixel: number, paint: readonly number[], share: number): void {
    for (let channel = 0; channel < 3; channel++) {
      const at = pixel * 3 + channel
      this.rgb[at] = Math.round(this.rgb[at]! * (1 - share) + paint[channel]! * share)
    }
  }
}

function channels(colour: string): number[] {
  return [1, 3, 5].map(at => Number.parseInt(colour.slice(at, at + 2), 16))
}

function encode({ width, height, rgb }: Canvas): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits a channel, red green blue.
  header.set([8, 2, 0, 0, 0], 8)
  const rows = Buffer.alloc(height * (1 + width * 3))
  // The byte before each row says that it is stored as it is.
  for (let row = 0; row < height; row++)
    rows.set(rgb.subarray(row * width * 3, (row + 1) * width * 3), row * (1 + width * 3) + 1)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
