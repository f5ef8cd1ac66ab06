import { expect, test } from 'vitest'
import { didYouMean } from '../../src/errors/index.js'

test('only near names are suggested', () => {
  expect(didYouMean('sco', ['score', 'serve'])).toBe('; did you mean score?')
  expect(didYouMean('xyz', ['score', 'serve'])).toBe('')
  // Of a short name, half is not near.
  expect(didYouMean('data', ['beta'])).toBe('')
  expect(didYouMean('jsno', ['json'])).toBe('; did you mean json?')
  expect(didYouMean('nsamplesperprompt', ['nSamplesPerPrompt'])).toBe('; did you mean nSamplesPerPrompt?')
})
