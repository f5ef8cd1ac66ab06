import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pairedRise } from '../../src/demo/index.js'
import { answerTo, demonstrations, makeTask, preferences, tutorAnswer, verifiable } from '../../src/demo/task.js'

const task = makeTask({ digits: 3, heldOutPrompts: 40 })

test('no prompt is both trained on and held out, and none repeats', () => {
  expect(task.heldOut).toHaveLength(40)
  expect(new Set([...task.training, ...task.heldOut]).size).toBe(task.training.length + task.heldOut.length)
  const rows = [...demonstrations(task.training, 0), ...preferences(task.training, 0), ...verifiable(task.training)]
  expect(rows.filter(({ prompt }) => task.heldOut.includes(prompt))).toEqual([])
})

test('a prompt stays on its side when fewer are held out', () => {
  const fewer = makeTask({ digits: 3, heldOutPrompts: 10 })
  expect(fewer.heldOut).toEqual(task.heldOut.slice(0, 10))
  expect(fewer.training).toEqual(task.training)
})

test('the tutor is right in about half of its answers, and writes the right digits always', () => {
  const { training } = makeTask({ digits: 4, heldOutPrompts: 100 })
  const right = training.filter(prompt => tutorAnswer(prompt, 7) === answerTo(prompt)).length / training.length
  expect(right).toBeGreaterThan(0.4)
  expect(right).toBeLessThan(0.6)
  for (const prompt of training.slice(0, 200)) expect(answerTo(tutorAnswer(prompt, 7))).toBe(answerTo(prompt))
})

test('of every pair the chosen answer is right and the rejected one is not', () => {
  const pairs = preferences(task.training, 3)
  expect(pairs.every(({ prompt, chosen }) => chosen === answerTo(prompt))).toBe(true)
  expect(pairs.every(({ chosen, rejected }) => chosen !== rejected)).toBe(true)
  // Wrong order, wrong digits in order, wrong length: all of them are there.
  expect(pairs.some(({ chosen, rejected }) => answerTo(rejected) === chosen)).toBe(true)
  expect(
    pairs.some(({ chosen, rejected }) => answerTo(rejected) === rejected && rejected.length === chosen.length),
  ).toBe(true)
  expect(pairs.some(({ chosen, rejected }) => rejected.length !== chosen.length)).toBe(true)
})

test('the interval of a rise holds its mean, grows with the spread and has no width where all rose alike', () => {
  expect(pairedRise([1, 0.75, 1], [0.5, 0.5, 0.25])).toEqual({
    mean: 0.5,
    low: expect.closeTo(0.5 - 4.303 * Math.sqrt(0.0625 / 3), 12),
    high: expect.closeTo(0.5 + 4.303 * Math.sqrt(0.0625 / 3), 12),
  })
  const numbers = fc.array(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    {
      minLength: 2,
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(numbers, pairs => {
      const { mean, low, high } = pairedRise(
        pairs.map(([after]) => after),
        pairs.map(([, before]) => before),
      )
      expect(low).toBeLessThanOrEqual(mean)
      expect(high).toBeGreaterThanOrEqual(mean)
    }),
  )
  const same = pairedRise([0.75, 0.5, 1], [0.5, 0.25, 0.75])
  expect(same.low).toBeCloseTo(0.25, 12)
  expect(() => pairedRise([1], [0])).toThrow('two pairs')
  expect(() => pairedRise([1, 2], [0])).toThrow('2 numbers after, 1 before')
})
