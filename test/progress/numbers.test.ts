import { expect, test } from 'vitest'
import { inColour, noColour, paintFor } from '../../src/progress/colour.js'
import {
  bytesText,
  durationText,
  isRoundingNoise,
  numberText,
  secondsText,
  shortText,
} from '../../src/progress/index.js'
import { cutText, textColumns, wrapText } from '../../src/progress/width.js'
import { metricText } from '../../src/run/index.js'

test.each([
  [6.939e-18, '0'],
  [-1e-10, '0'],
  [0, '0'],
  [0.0001, '0.0001'],
  [1e-6, '1e-6'],
  [1.23456e-7, '1.23e-7'],
  [0.123456, '0.1235'],
  [-41.56789, '-41.57'],
  [999.96, '1,000'],
  [12_345.6, '12,346'],
  [1.5e20, '1.50e20'],
  [Number.NaN, 'NaN'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
])('the number %d is %s', (value, text) => {
  expect(numberText(value)).toBe(text)
})

test.each([
  [6.9e-18, '0'],
  [0.012345, '0.0123'],
  [1234.5, '1235'],
  [12_345, '12.3k'],
  [-2_500_000, '-2.5M'],
  [1e-5, '1e-5'],
  [Number.NaN, 'NaN'],
])('in little room, %d is %s', (value, text) => {
  expect(shortText(value)).toBe(text)
})

test.each([
  ['sums that cancel', [6.9e-18, -1.2e-17, 0], true],
  ['sums of float32 that cancel', [2.9e-8, -5.9e-8, 1.4e-8, -3e-9], true],
  ['nothing but 0: no reward at all', [0, 0, 0], false],
  ['two ways to the same log-probabilities in float32', [1.7e-7, 2e-7], true],
  ['a metric', [0.1, -0.1], false],
  ['not a number', [1e-18, Number.NaN], false],
  ['nothing', [], false],
])('%s: rounding noise or not', (_, values, noise) => {
  expect(isRoundingNoise(values)).toBe(noise)
})

test.each([
  [0, '0.0 MB'],
  [999, '999 B'],
  [12_345, '12 kB'],
  [3_400_000, '3.4 MB'],
  [538e6, '538 MB'],
  [999.9e6, '1.0 GB'],
  [139.7e9, '140 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

test.each([
  [0.2, '0 s'],
  [99, '99 s'],
  [100, '2 min'],
  [5_900, '98 min'],
  [5_990, '1 h 40 min'],
  [7_200, '2 h'],
  [7_500, '2 h 5 min'],
  [172_800, '2 d'],
  [180_000, '2 d 2 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text)
})

test('measured seconds keep their digits while they are few', () => {
  expect([0.01234, 1.5, 98.76, 1000].map(secondsText)).toEqual(['0.0123 s', '1.5 s', '98.8 s', '17 min'])
})

test('a metric is shown by its unit', () => {
  expect(metricText('memory/rss', 1.234e9)).toBe('1.2 GB')
  expect(metricText('seconds/generation', 12.345)).toBe('12.3 s')
  expect(metricText('speed/tokens_per_second', 12_345.6)).toBe('12,346 tokens/s')
  expect(metricText('policy/loss', 6.9e-18)).toBe('0')
  expect(metricText('a/name/of/nobody', 1 / 3)).toBe('0.3333')
})

test('wide characters take two columns, marks and colours none', () => {
  expect(textColumns('abc')).toBe(3)
  expect(textColumns('模型')).toBe(4)
  expect(textColumns('e\u0301')).toBe(1)
  expect(textColumns('🎉')).toBe(2)
  expect(textColumns('👩‍👩‍👧')).toBe(2)
  expect(textColumns('\x1b[31mred\x1b[39m')).toBe(3)
})

test('prose is broken between words, with its indent; a command stays whole', () => {
  expect(wrapText('one two three four', 9)).toBe('one two\nthree\nfour')
  expect(wrapText('  one two three', 9)).toBe('  one two\n  three')
  expect(wrapText('  whetstone chat --model a/long/path', 12)).toBe('  whetstone chat --model a/long/path')
  expect(wrapText('\x1b[33mwarning:\x1b[39m look at this', 12)).toBe('\x1b[33mwarning:\x1b[39m\nlook at this')
  expect(wrapText('a/path/that/is/longer b', 6)).toBe('a/path/that/is/longer\nb')
  expect(wrapText('see a/path/that/is/longer', 6)).toBe('see a/path/that/is/longer')
  expect(wrapText('fits\nboth', 4)).toBe('fits\nboth')
})

test('a text is cut before the column it must not pass, never within a character', () => {
  expect(cutText('abcdefgh', 8)).toBe('abcdefgh')
  expect(cutText('abcdefgh', 6)).toBe('abc...')
  expect(cutText('模型目录', 6)).toBe('模...')
  expect(textColumns(cutText('模型目录', 2))).toBeLessThanOrEqual(2)
})

test.each([
  [{ isTerminal: true, env: {} }, inColour],
  [{ isTerminal: true, env: { TERM: 'dumb' } }, noColour],
  [{ isTerminal: true, env: { NO_COLOR: '1' } }, noColour],
  [{ isTerminal: true, env: { NO_COLOR: '' } }, inColour],
  [{ isTerminal: false, env: {} }, noColour],
  [{ isTerminal: false, env: { FORCE_COLOR: '1' } }, inColour],
  [{ isTerminal: true, env: { FORCE_COLOR: '0' } }, noColour],
  [{ isTerminal: false, env: { FORCE_COLOR: '1', NO_COLOR: '1' } }, inColour],
])('colour in %j', (facts, paint) => {
  expect(paintFor(facts)).toBe(paint)
})
