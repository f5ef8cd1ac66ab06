import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Drawing, Line } from '../../src/plot/drawing.js'
import { chart, toPng, toSvg } from '../../src/plot/index.js'
import { smooth, stretches, thin } from '../../src/plot/series.js'
import { fitText, textLines, textWidth } from '../../src/plot/stroke-font.js'
import { tickLabel, ticks } from '../../src/plot/ticks.js'
import { decodePng } from '../support/decode-png.js'

const points = (...ys: number[]) => ys.map((y, x) => ({ x, y }))
const run = (name: string, ...values: number[]) => ({
  name,
  metrics: new Map([['loss/train', values.map((value, step) => ({ step, value }))]]),
})

test('ticks are round, between the ends, and told apart by their labels', () => {
  expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
  expect(ticks(-3, 17, 5)).toEqual([0, 5, 10, 15])
  const number = fc.double({ min: -1e9, max: 1e9, noNaN: true })
  fc.assert(
    fc.property(number, fc.double({ min: 1e-3, max: 1e6, noNaN: true }), (low, span) => {
      fc.pre(Math.abs(low) < span * 1e3)
      const found = ticks(low, low + span, 5)
      expect(found.length).toBeGreaterThanOrEqual(2)
      expect(found.length).toBeLessThanOrEqual(7)
      for (const tick of found) {
        expect(tick).toBeGreaterThanOrEqual(low - span * 1e-6)
        expect(tick).toBeLessThanOrEqual(low + span * (1 + 1e-6))
      }
    }),
  )
  expect([0, 0.25, -1500, 12_000, 2.5e6, 3e9, 1e-5, -2.5e-7, 1e18].map(tickLabel)).toEqual([
    '0',
    '0.25',
    '-1500',
    '12k',
    '2.5M',
    '3G',
    '1e-5',
    '-2.5e-7',
    '1e18',
  ])
})

test('the trend of a constant is that constant, from its first point; gaps stay gaps; few points have none', () => {
  const flat = smooth(points(...Array<number>(30).fill(3)))!
  for (const { y } of flat) expect(y).toBeCloseTo(3, 12)
  expect(smooth(points(1, 2, 3))).toBeUndefined()
  const gap = smooth(points(...Array<number>(20).fill(1), Number.NaN, ...Array<number>(20).fill(1)))!
  expect(stretches(gap).map(({ length }) => length)).toEqual([20, 20])
  expect(stretches(points(Number.NaN, Number.POSITIVE_INFINITY))).toEqual([])
})

test('a long curve is thinned to what can be seen: its peaks stay', () => {
  const long = points(...Array.from({ length: 100_000 }, (_, i) => (i === 77_777 ? 50 : Math.sin(i))))
  const short = thin(long, 300)
  expect(short.length).toBeLessThanOrEqual(1200)
  expect(short).toContainEqual({ x: 77_777, y: 50 })
  expect([short[0], short.at(-1)]).toEqual([long[0], long.at(-1)])
  expect(short.every(({ x }, i) => i === 0 || x > short[i - 1]!.x)).toBe(true)
})

test('every printable character has strokes of its own within its place', () => {
  const seen = new Map<string, string>()
  for (let code = 33; code < 127; code++) {
    const character = String.fromCharCode(code)
    const lines = textLines(character, { x: 0, y: 6, size: 6, colour: '#000000' })
    const all = lines.flatMap(line => line.points)
    expect(all.length, character).toBeGreaterThan(1)
    for (const { x, y } of all) {
      expect(x >= 0 && x <= 4, character).toBe(true)
      expect(y >= 0 && y <= 8, character).toBe(true)
    }
    const shape = JSON.stringify(lines.map(line => line.points))
    expect(seen.get(shape), `${character} looks like another`).toBeUndefined()
    seen.set(shape, character)
  }
  expect(textLines('é', { x: 0, y: 6, size: 6, colour: '#000000' })).toHaveLength(1)
  expect(textWidth(fitText('a/very/long/name', 9, 60), 9)).toBeLessThanOrEqual(60)
  expect(fitText('a/very/long/name', 9, 60)).toMatch(/^\.\.\..*name$/)
})

test('a chart of anything is a drawing inside its frame', () => {
  const values = fc.array(fc.oneof(fc.double(), fc.constant(Number.NaN), fc.constant(5)), { maxLength: 60 })
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 3 }), all => {
      const drawing = chart({ runs: all.map((one, i) => run(`run ${i}`, ...one)), metrics: ['loss/train', 'lr'] })
      for (const shape of drawing.shapes)
        if (shape.kind === 'line')
          for (const { x, y } of shape.points) {
            expect(x >= 0 && x <= drawing.width).toBe(true)
            expect(y >= 0 && y <= drawing.height).toBe(true)
          }
      expect(toSvg(drawing)).not.toContain('NaN')
    }),
    { numRuns: 60 },
  )
})

test('names in an SVG cannot break out of it', () => {
  expect(toSvg(chart({ runs: [run('</title><script>&\u0000', 1, 2)], metrics: ['loss/train'] }))).toContain(
    'of &lt;/title&gt;&lt;script&gt;&amp; </title>',
  )
})

test('lines of a PNG have their colour inside, none outside, and a smooth edge; pieces do not darken each other', () => {
  const line = (opacity: number): Line => ({
    kind: 'line',
    points: [
      { x: 2, y: 5 },
      { x: 5, y: 5 },
      { x: 8, y: 5 },
    ],
    width: 1.5,
    colour: '#ff0000',
    opacity,
  })
  const drawing = (opacity: number): Drawing => ({ title: '', width: 10, height: 10, shapes: [line(opacity)] })
  const { width, height, pixel } = decodePng(toPng(drawing(1)))
  expect([width, height]).toEqual([20, 20])
  expect(pixel(8, 10)).toEqual([255, 0, 0])
  expect(pixel(8, 15)).toEqual([255, 255, 255])
  // 1.5 pixels from the middle of a line of 3: half of the pixel.
  expect(pixel(8, 11)[1]).toBeGreaterThan(50)
  expect(pixel(8, 11)[1]).toBeLessThan(200)
  const faint = decodePng(toPng(drawing(0.5)))
  expect([6, 10, 14].map(x => faint.pixel(x, 9)[1])).toEqual([128, 128, 128])
})
