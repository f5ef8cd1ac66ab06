import { expect, test } from 'vitest'
import { heldAccuracy, margin } from './held-accuracy.js'

test.each([2, 3])(`seed %i: a reward model ranks more than ${margin} of held-out pairs`, async seed => {
  expect(await heldAccuracy(seed)).toBeGreaterThan(margin)
})
