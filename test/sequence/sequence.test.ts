import { expect, test } from 'vitest'
import {
  firstTrained,
  origins,
  promptIds,
  promptLength,
  promptSequence,
  responseIds,
  supervisedSequence,
  trainedCount,
  withAnswer,
  withObservation,
  withSampled,
} from '../../src/sequence/index.js'

const ids = (...list: number[]) => Int32Array.from(list)
const prompt = promptSequence({ ids: ids(1, 2, 3), promptId: 'row-7', row: { n: 1 } })

test('a prompt trains nothing, sampled tokens are trained, observations are not', () => {
  expect(trainedCount(prompt)).toBe(0)
  const episode = withSampled(withObservation(withSampled(prompt, ids(4, 5)), ids(6)), ids(7))
  const { prompt: p, sampled: s, observation: o } = origins
  expect(episode).toEqual({
    ids: ids(1, 2, 3, 4, 5, 6, 7),
    origin: Uint8Array.of(p, p, p, s, s, o, s),
    trained: Uint8Array.of(0, 0, 0, 1, 1, 0, 1),
    media: [],
    promptId: 'row-7',
    row: { n: 1 },
  })
  expect(trainedCount(episode)).toBe(3)
  expect(promptLength(episode)).toBe(3)
  expect(promptIds(episode)).toEqual(ids(1, 2, 3))
  expect(responseIds(episode)).toEqual(ids(4, 5, 6, 7))
})

test('an answer of a data set is trained, and begins where the prompt ends', () => {
  const row = withAnswer(withAnswer(prompt, ids(4, 5)), ids(6))
  expect(row.origin).toEqual(new Uint8Array(6).fill(origins.prompt))
  expect(row.trained).toEqual(Uint8Array.of(0, 0, 0, 1, 1, 1))
  expect([firstTrained(row), firstTrained(prompt)]).toEqual([3, 3])
  expect(firstTrained(withAnswer(promptSequence({ ids: ids(), promptId: 'a', row: {} }), ids(4, 5)))).toBe(1)
})

test('appending leaves the sequence before it as it was', () => {
  withSampled(prompt, ids(9))
  expect(prompt.ids).toEqual(ids(1, 2, 3))
  expect(promptLength(prompt)).toBe(3)
  expect(responseIds(prompt)).toEqual(ids())
})

test('the first token of a sequence is never trained', () => {
  expect(withSampled(promptSequence({ ids: ids(), promptId: 'a', row: {} }), ids(4, 5)).trained).toEqual(
    Uint8Array.of(0, 1),
  )
  const row = supervisedSequence({ ids: ids(1, 2, 3), trained: Uint8Array.of(1, 0, 1), promptId: 'a', row: {} })
  expect(row.trained).toEqual(Uint8Array.of(0, 0, 1))
  expect(() => supervisedSequence({ ids: ids(1, 2), trained: Uint8Array.of(1), promptId: 'a', row: {} })).toThrow(
    'trained has 1 entries for 2 tokens',
  )
})
