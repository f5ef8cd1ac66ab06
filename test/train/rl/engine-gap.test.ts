/** Samples of a model with placeholders: servers leave them out of their distribution, and other weights are still found. */
import { expect, test } from 'vitest'
import type { Experience } from '../../../src/experience/index.js'
import { supervisedSequence } from '../../../src/sequence/index.js'
import { checkGap } from '../../../src/train/rl/engine-gap.js'
import { configOf } from '../../support/rl.js'

const tokens = 20
const config = configOf({ algorithm: 'grpo', model: 'm', data: 'd', rewards: 'r', output: 'o' })
const ids = new Int32Array(tokens + 1)
const sequence = supervisedSequence({ ids, trained: new Uint8Array(tokens + 1).fill(1, 1), promptId: 'a', row: {} })
const own = new Float32Array(tokens).fill(-2)

/** The engine's numbers, which differ from ours as said. */
function check(difference: (t: number) => number, placeholders: boolean): void {
  const processed = own.map((value, t) => value + difference(t))
  const one = { sequence, engineLogprobs: { processed }, versions: [{ version: 1, start: 0, end: tokens }] }
  checkGap({
    experiences: [one as unknown as Experience],
    logprobs: [own],
    config,
    ...{ version: 1, dtype: 'float32', agreement: { difference: 1e-6, limit: 1e-4 }, iteration: 0, placeholders },
  })
}

test('a share of placeholders raises the numbers of a server, and is no sign of other weights', () => {
  check(() => 8e-3, true)
  expect(() => check(() => 8e-3, false)).toThrow('Other weights made these samples')
})

test('other weights are found: lower numbers, larger ones, and both', () => {
  for (const difference of [() => -8e-3, () => 0.05, (t: number) => (t % 2 === 0 ? 0.01 : -0.01)])
    expect(() => check(difference, true)).toThrow('Other weights made these samples')
})
