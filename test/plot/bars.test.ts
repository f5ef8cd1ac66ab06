import { expect, test } from 'vitest'
import type { Box, Line, Text } from '../../src/plot/drawing.js'
import { barChart, toPng, toSvg } from '../../src/plot/index.js'
import { decodePng } from '../support/decode-png.js'

const drawing = barChart({
  title: 'two models',
  names: ['one', 'other'],
  panels: [
    {
      title: 'share',
      axis: 'of all',
      groups: [
        { label: 'a', bars: [{ value: 1 }, { value: 0.5, interval: { low: 0.25, high: 0.75 } }], level: 0.5 },
        { label: 'b', bars: [undefined, { value: -0.5 }] },
      ],
    },
  ],
})
const boxes = drawing.shapes.filter((shape): shape is Box => shape.kind === 'box').slice(1)

test('bars stand on 0, as high as their numbers, and one that is not there is not drawn', () => {
  const [whole, half, below] = boxes as [Box, Box, Box]
  expect(boxes).toHaveLength(3)
  expect(half.height / whole.height).toBeCloseTo(0.5, 9)
  expect(below.height / whole.height).toBeCloseTo(0.5, 9)
  // Down from where the others stand.
  expect(below.y).toBeCloseTo(whole.y + whole.height, 9)
  expect(half.y + half.height).toBeCloseTo(whole.y + whole.height, 9)
  expect(whole.colour).not.toBe(half.colour)
  expect(below.colour).toBe(half.colour)
})

test('an interval is a line over its bar', () => {
  const [whole, half] = boxes as [Box, Box]
  const centre = half.x + half.width / 2
  const whiskers = drawing.shapes.filter(
    (shape): shape is Line =>
      shape.kind === 'line' && shape.points.length === 2 && shape.points.every(({ x }) => Math.abs(x - centre) < 1e-9),
  )
  expect(whiskers).toHaveLength(1)
  const [low, high] = whiskers[0]!.points
  expect((low!.y - high!.y) / whole.height).toBeCloseTo(0.5, 9)
})

test('each bar has its number over it, the panel a title and a named axis, and a value to compare with a dashed line', () => {
  const texts = drawing.shapes.filter((shape): shape is Text => shape.kind === 'text')
  expect(texts.map(({ text }) => text)).toEqual(
    expect.arrayContaining(['two models', 'one', 'other', 'share', 'of all', 'a', 'b', '1', '0.5', '-0.5']),
  )
  const [whole, half] = boxes as [Box, Box]
  const over = texts.find(({ text, align }) => text === '0.5' && align === 'middle')!
  expect(over.x).toBeCloseTo(half.x + half.width / 2, 9)
  expect(over.y).toBeLessThan(half.y - half.height / 2)
  const [dashed] = drawing.shapes.filter((shape): shape is Line => shape.kind === 'line' && shape.dash !== undefined)
  expect(dashed!.points[0]!.y).toBeCloseTo(half.y, 9)
  // Only over its own group.
  expect(dashed!.points[1]!.x).toBeLessThan(boxes[2]!.x)
  expect(dashed!.points[0]!.x).toBeLessThan(whole.x)
})

test('it is drawn as a picture, within its borders, even of nothing and of numbers that are none', () => {
  const { width, height, pixel } = decodePng(toPng(drawing))
  const [whole] = boxes as [Box]
  expect([width, height]).toEqual([2 * drawing.width, 2 * drawing.height])
  expect(pixel(Math.round(2 * (whole.x + 5)), Math.round(2 * (whole.y + 5)))).toEqual([0x00, 0x72, 0xb2])
  const odd = [
    [],
    [{ title: '', axis: '', groups: [] }],
    [{ title: 'x', axis: 'y', groups: [{ label: 'y', bars: [{ value: Number.NaN }, { value: 0 }] }] }],
    [
      {
        title: 'x',
        axis: 'y',
        groups: [{ label: 'y', bars: [{ value: Number.POSITIVE_INFINITY }, { value: 1e300 }] }],
      },
    ],
  ]
  for (const panels of odd) {
    const text = toSvg(barChart({ title: 't', names: ['a', 'b'], panels }))
    expect(text).not.toMatch(/NaN|Infinity/)
  }
})
