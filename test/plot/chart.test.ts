import fc from 'fast-check'
import { expect, test } from 'vitest'
import { palette, series } from '../../src/plot/colours.js'
import { type Drawing, type Line, type Shape, type Text, text } from '../../src/plot/drawing.js'
import { fitText, textOutline, textWidth } from '../../src/plot/font.js'
import { type ChartPanel, type ChartRun, chart, toPng, toSvg } from '../../src/plot/index.js'
import { smooth, stretches, thin } from '../../src/plot/series.js'
import { tickLabels, ticks } from '../../src/plot/ticks.js'
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
      fc.pre(Math.abs(low) < span * 1e5)
      const found = ticks(low, low + span, 5)
      expect(found.length).toBeGreaterThanOrEqual(2)
      expect(found.length).toBeLessThanOrEqual(7)
      const labels = tickLabels(found)
      expect(new Set(labels).size, labels.join()).toBe(labels.length)
      for (const tick of found) {
        expect(tick).toBeGreaterThanOrEqual(low - span * 1e-6)
        expect(tick).toBeLessThanOrEqual(low + span * (1 + 1e-6))
      }
    }),
  )
  expect([0, 0.25, -1500, 12_000, 2.5e6, 3e9, 1e-5, -2.5e-7, 1e18].map(value => tickLabels([value])[0])).toEqual([
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

const drawn = (runs: ChartRun[], panels: Partial<ChartPanel>[] = [{}], note?: string): Drawing =>
  chart({
    title: 'a picture',
    across: 'step',
    runs,
    panels: panels.map(panel => ({ metric: 'loss/train', axis: 'nats', ...panel })),
    note,
  })
const shapesOf = <K extends Shape['kind']>({ shapes }: Drawing, kind: K) =>
  shapes.filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind)
const textsOf = (drawing: Drawing) => shapesOf(drawing, 'text').map(({ text }) => text)

test('every printable character has an outline of its own above and below the line it stands on', () => {
  const seen = new Map<string, string>()
  for (let code = 33; code < 256; code++) {
    // A soft hyphen looks like a hyphen.
    if ((code > 126 && code < 161) || code === 0xad) continue
    const character = String.fromCharCode(code)
    const one = text(character, { x: 0, y: 0, size: 1000, colour: '#000000' })
    const all = textOutline(one).flat()
    expect(all.length, character).toBeGreaterThan(2)
    for (const { x, y } of all) {
      expect(x > -200 && x < textWidth(character, 1000) + 200, character).toBe(true)
      expect(y > -1000 && y < 400, character).toBe(true)
    }
    const shape = JSON.stringify(all)
    expect(seen.get(shape), `${character} looks like another`).toBeUndefined()
    seen.set(shape, character)
  }
  // A box for what has no outline.
  expect(textOutline(text('模', { x: 0, y: 0, size: 10, colour: '#000000' }))).toHaveLength(2)
  expect(textWidth(fitText('a/very/long/name', 9, 60), 9)).toBeLessThanOrEqual(60)
  expect(fitText('a/very/long/name', 9, 60)).toMatch(/^\.\.\..*name$/)
})

/** The rectangle of a text. */
function boxOf({ text: words, x, y, size, align, upwards }: Text): { x0: number; x1: number; y0: number; y1: number } {
  const start = { start: 0, middle: -0.5, end: -1 }[align] * textWidth(words, size)
  const [from, to] = [start, start + textWidth(words, size)]
  return upwards
    ? { x0: x - 0.8 * size, x1: x + 0.25 * size, y0: y - to, y1: y - from }
    : { x0: x + from, x1: x + to, y0: y - 0.8 * size, y1: y + 0.25 * size }
}

test('a chart of anything is a drawing inside its frame, and no text lies over another', () => {
  const values = fc.array(
    fc.oneof(fc.double(), fc.double({ min: -1e6, max: 1e6 }), fc.constant(Number.NaN), fc.constant(5)),
    {
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 3 }), all => {
      const runs = all.map((one, i) => run(`a run with a name that is rather long, number ${i}`, ...one))
      const drawing = drawn(runs, [{}, { metric: 'lr' }, { level: 0.5 }], 'left out: policy/loss')
      const texts = shapesOf(drawing, 'text').map(shape => ({ shape, box: boxOf(shape) }))
      for (const { box, shape } of texts) {
        expect(box.x0 >= 0 && box.x1 <= drawing.width && box.y0 >= 0 && box.y1 <= drawing.height, shape.text).toBe(true)
        for (const { box: other, shape: over } of texts)
          if (shape !== over)
            expect(
              box.x1 <= other.x0 || other.x1 <= box.x0 || box.y1 <= other.y0 || other.y1 <= box.y0,
              `"${shape.text}" over "${over.text}"`,
            ).toBe(true)
      }
      for (const { points } of shapesOf(drawing, 'line'))
        for (const { x, y } of points) {
          expect(x >= 0 && x <= drawing.width).toBe(true)
          expect(y >= 0 && y <= drawing.height).toBe(true)
        }
      for (const { x, y } of shapesOf(drawing, 'dot')) {
        expect(x >= 0 && x <= drawing.width).toBe(true)
        expect(y >= 0 && y <= drawing.height).toBe(true)
      }
      expect(toSvg(drawing)).not.toContain('NaN')
    }),
    { numRuns: 60 },
  )
})

test('a picture has a title, names of panels and axes, and the last value of each run at its end', () => {
  const drawing = drawn([run('one', 3, 2, 1.23456), run('other', 3, 2, 1.25)], [{}], 'a note')
  expect(textsOf(drawing)).toEqual(
    expect.arrayContaining(['a picture', 'one', 'other', 'loss/train', 'nats', 'step', '1.23', '1.25', 'a note']),
  )
  const [first, second] = ['1.23', '1.25'].map(words => shapesOf(drawing, 'text').find(({ text }) => text === words)!)
  expect(first!.colour).not.toBe(second!.colour)
  // They end at nearly the same height: the labels are pushed apart.
  expect(Math.abs(first!.y - second!.y)).toBeGreaterThanOrEqual(12)
  // A single run is named by the title.
  expect(textsOf(drawn([run('alone', 1, 2)]))).not.toContain('alone')
  const memory = drawn([run('a', 1e9, 2e9)], [{ show: value => `${value / 1e9} GB` }])
  expect(textsOf(memory)).toContain('2 GB')
})

test('points of a sparse series are marked, one between gaps always, those of a long series are not', () => {
  const marks = (...values: number[]) => shapesOf(drawn([run('a', ...values)]), 'dot').length
  // The last value has a mark of its own.
  expect(marks(1, 2, 3)).toBe(3 + 1)
  expect(marks(1)).toBe(1 + 1)
  const long = Array.from({ length: 500 }, (_, i) => Math.sin(i))
  expect(marks(...long)).toBe(1)
  expect(marks(...long, Number.NaN, 1, Number.NaN, ...long)).toBe(1 + 1)
})

test('a level is a dashed line within the panel, whatever the values are', () => {
  const drawing = drawn([run('a', 0.8, 0.9)], [{ level: 0.5 }])
  const [dashed] = shapesOf(drawing, 'line').filter(({ dash }) => dash)
  const [tick] = shapesOf(drawing, 'text').filter(({ text, align }) => text === '0.5' && align === 'end')
  expect(dashed!.points[0]!.y).toBeCloseTo(tick!.y - 3.5, 6)
  expect(toSvg(drawing)).toContain('stroke-dasharray="5 4"')
})

test('values that differ by rounding alone are a flat line', () => {
  const drawing = drawn([run('a', 0.3, 0.1 + 0.2, 0.3)])
  const ys = shapesOf(drawing, 'dot').map(({ y }) => y)
  expect(Math.max(...ys) - Math.min(...ys)).toBeLessThan(0.01)
  expect(textsOf(drawn([run('a', 1e-18, -2e-18)]))).toEqual(expect.arrayContaining(['1', '0', '-1']))
})

test('an SVG has texts in a font of the system, and colours for dark screens; names cannot break out of it', () => {
  const svg = toSvg(drawn([run('</text><script>&\u0000', 1, 2), run('b', 1)]))
  expect(svg).toContain('>&lt;/text&gt;&lt;script&gt;&amp; </text>')
  expect(svg).not.toContain('<script>')
  expect(svg).toMatch(/font-family="system-ui, [^"]*sans-serif"/)
  expect(svg).toMatch(/@media \(prefers-color-scheme: dark\)/)
})

const luminance = (colour: string): number => {
  const [r, g, b] = [1, 3, 5].map(at => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

test.each(['light', 'dark'] as const)('every colour of a text can be read on a %s screen', screen => {
  const { background, ink, faint } = palette
  for (const colour of [ink, faint, ...series].map(one => one[screen])) {
    const [low, high] = [luminance(colour), luminance(background[screen])].sort((a, b) => a - b) as [number, number]
    expect((high + 0.05) / (low + 0.05), colour).toBeGreaterThanOrEqual(4.5)
  }
  expect(new Set(series.map(one => one[screen])).size).toBe(series.length)
})

test('letters of a PNG are filled, with their holes, upright and turned', () => {
  const one = (upwards: boolean) =>
    decodePng(
      toPng({
        title: '',
        width: 40,
        height: 40,
        shapes: [
          text('O', { x: upwards ? 35 : 5, y: 35, size: 40, colour: '#000000', ...(upwards ? { upwards } : {}) }),
        ],
      }),
    )
  const dark = (pixel: number[]) => pixel[0]! < 60
  for (const { pixel } of [one(false), one(true)]) {
    const row = (y: number) => Array.from({ length: 80 }, (_, x) => dark(pixel(x, y)))
    const flat = row(41)
    const changes = flat.filter((value, x) => x > 0 && value !== flat[x - 1]).length
    // Side, hole, side.
    expect(changes).toBe(4)
  }
  // An O is about 0.79 em wide, 0.73 high, and its strokes cover about a third of that.
  let [covered, edges] = [0, 0]
  const { pixel } = one(false)
  for (let y = 0; y < 80; y++)
    for (let x = 0; x < 80; x++) {
      const share = 1 - pixel(x, y)[0]! / 255
      covered += share
      if (share > 0.05 && share < 0.95) edges++
    }
  expect(covered / (80 * 80)).toBeGreaterThan(0.12)
  expect(covered / (80 * 80)).toBeLessThan(0.25)
  expect(edges).toBeGreaterThan(50)
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
