/** Pixels. Lines are drawn by their distance to each pixel's centre, texts by the share of each pixel that they cover: edges are smooth. */
import type { Box, Dot, Line, Point, Shape } from './drawing.js'
import { textOutline } from './font.js'

/** Pixels for each unit of the drawing: sharp on screens of high density. */
const scale = 2

export class Canvas {
  readonly width: number
  readonly height: number
  readonly rgb: Uint8Array
  /** How much of each pixel the shape being drawn covers: where its pieces meet they must not darken each other. */
  readonly #cover: Float32Array

  constructor(drawing: { readonly width: number; readonly height: number }) {
    this.width = Math.ceil(drawing.width * scale)
    this.height = Math.ceil(drawing.height * scale)
    this.rgb = new Uint8Array(this.width * this.height * 3).fill(255)
    this.#cover = new Float32Array(this.width * this.height)
  }

  draw(shape: Shape): void {
    if (shape.kind === 'box') this.#box(shape)
    else if (shape.kind === 'text') this.#fill(textOutline(shape), shape.colour)
    else if (shape.kind === 'line') for (const part of dashes(shape)) this.#line(part)
    else this.#line(asLine(shape))
  }

  #box({ x, y, width, height, colour }: Box): void {
    const paint = channels(colour)
    for (let row = Math.round(y * scale); row < Math.round((y + height) * scale); row++)
      for (let column = Math.round(x * scale); column < Math.round((x + width) * scale); column++)
        this.#blend(row * this.width + column, paint, 1)
  }

  #line({ points, width, colour, opacity }: Line): void {
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

  /**
   * Fills polygons. Each edge adds, to the pixels that it crosses, the signed area to its right there; a sum along the row then is how
   * much of each pixel is inside.
   */
  #fill(polygons: readonly (readonly Point[])[], colour: string): void {
    const all = polygons.flat()
    if (all.length === 0) return
    const left = Math.floor(Math.min(...all.map(({ x }) => x)) * scale) - 1
    const top = Math.floor(Math.min(...all.map(({ y }) => y)) * scale) - 1
    const columns = Math.ceil(Math.max(...all.map(({ x }) => x)) * scale) + 2 - left
    const rows = Math.ceil(Math.max(...all.map(({ y }) => y)) * scale) + 2 - top
    const areas = new Float32Array(columns * rows)
    for (const polygon of polygons)
      polygon.forEach((to, index) => {
        const from = polygon.at(index - 1)!
        const shifted = ({ x, y }: Point): Point => ({ x: x * scale - left, y: y * scale - top })
        addEdge(areas, columns, shifted(from), shifted(to))
      })
    const paint = channels(colour)
    for (let row = 0; row < rows; row++) {
      let inside = 0
      for (let column = 0; column < columns; column++) {
        inside += areas[row * columns + column]!
        const share = Math.min(1, Math.abs(inside))
        const [x, y] = [left + column, top + row]
        if (share > 1 / 512 && x >= 0 && y >= 0 && x < this.width && y < this.height)
          this.#blend(y * this.width + x, paint, share)
      }
    }
  }

  #blend(pixel: number, paint: readonly number[], share: number): void {
    for (let channel = 0; channel < 3; channel++) {
      const at = pixel * 3 + channel
      this.rgb[at] = Math.round(this.rgb[at]! * (1 - share) + paint[channel]! * share)
    }
  }
}

function addEdge(areas: Float32Array, columns: number, from: Point, to: Point): void {
  if (from.y === to.y) return
  const down = from.y < to.y
  const [high, low] = down ? [from, to] : [to, from]
  const slope = (low.x - high.x) / (low.y - high.y)
  for (let row = Math.floor(high.y); row < low.y; row++) {
    const [start, end] = [Math.max(row, high.y), Math.min(row + 1, low.y)]
    const [a, b] = [high.x + (start - high.y) * slope, high.x + (end - high.y) * slope]
    const [near, far] = [Math.min(a, b), Math.max(a, b)]
    const whole = (end - start) * (down ? 1 : -1)
    // The share of the edge's height in each column it crosses; within a column, what lies to the right of the edge.
    let carried = 0
    for (let column = Math.floor(near); column <= Math.floor(far); column++) {
      const [enter, leave] = [Math.max(near, column), Math.min(far, column + 1)]
      const height = far === near ? whole : (whole * (leave - enter)) / (far - near)
      const beside = height * (column + 1 - (enter + leave) / 2)
      areas[row * columns + column]! += carried + beside
      carried = height - beside
    }
    areas[row * columns + Math.floor(far) + 1]! += carried
  }
}

/** Straight pieces of a dashed line. */
function dashes({ dash, ...shape }: Line): Line[] {
  if (!dash) return [shape]
  const [on, off] = dash
  return shape.points.slice(1).flatMap((to, index) => {
    const from = shape.points[index]!
    const length = Math.hypot(to.x - from.x, to.y - from.y)
    const at = (distance: number): Point => ({
      x: from.x + ((to.x - from.x) * distance) / length,
      y: from.y + ((to.y - from.y) * distance) / length,
    })
    return Array.from({ length: Math.ceil(length / (on + off)) }, (_, i) => ({
      ...shape,
      points: [at(i * (on + off)), at(Math.min(length, i * (on + off) + on))],
    }))
  })
}

const asLine = ({ x, y, radius, colour, opacity }: Dot): Line => ({
  kind: 'line',
  points: [{ x, y }],
  width: 2 * radius,
  colour,
  opacity,
})

function channels(colour: string): number[] {
  return [1, 3, 5].map(at => Number.parseInt(colour.slice(at, at + 2), 16))
}
