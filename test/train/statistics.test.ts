import { expect, it } from 'vitest'
import {
  explainedVariance,
  losses,
  mergeKtoStatistics,
  mergePolicyStatistics,
  mergePreferenceStatistics,
  mergeRewardModelStatistics,
  mergeValueStatistics,
  type ObjectiveSample,
  policyLoss,
  preferenceLoss,
  tokenTotals,
  valueLoss,
} from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { randomCall } from '../support/random-calls.js'

const samples = randomCall('ppo', 7).samples as unknown as readonly ObjectiveSample[]
const totals = tokenTotals(samples.map(({ advantages }) => advantages.length))

it('statistics of parts merge into those of the whole', () => {
  for (const options of [
    { loss: 'ppo', dualClip: 1.2, tisCap: 1.1, clipLow: 0.05, clipHigh: 0.05 },
    { loss: 'cpg' },
  ] as const) {
    const of = (part: readonly ObjectiveSample[]) => policyLoss({ samples: part, totals, options }).statistics
    const whole = of(samples)
    const merged = mergePolicyStatistics([of(samples.slice(0, 1)), of([]), of(samples.slice(1))])
    expect(Object.keys(merged).sort()).toEqual(Object.keys(whole).sort())
    for (const key of Object.keys(whole) as (keyof typeof whole)[])
      expectClose([merged[key]!], [whole[key]!], undefined, key)
    expect(whole.clipLowShare + whole.clipHighShare).toBeGreaterThan(0)
  }
})

it('of a policy, by hand', () => {
  const { statistics } = policyLoss({
    samples: [
      { logprobs: [0, Math.log(2)], oldLogprobs: [0, 0], advantages: [1, 1] },
      { logprobs: [Math.log(0.5), Math.log(4)], oldLogprobs: [0, 0], advantages: [-1, -1] },
    ],
    totals: tokenTotals([2, 2]),
    options: { loss: 'ppo', dualClip: 3 },
  })
  const { approxKl, ratioMean, ratioMax, ...rest } = statistics
  expectClose([ratioMean, ratioMax], [7.5 / 4, 4])
  // The sum of rho - 1 - log rho; the logarithms of 2, 1/2 and 4 add up to that of 4.
  expectClose([approxKl], [(7.5 - 4 - Math.log(4)) / 4])
  const counted = { sequences: 2, tokens: 4, keptTokens: 4 }
  expect(rest).toEqual({ ...counted, clipLowShare: 0.25, clipHighShare: 0.25, dualClipShare: 0.25 })
})

it('of a critic', () => {
  const critic = [
    { values: [1, 3], oldValues: [1, 1], returns: [2, 4] },
    { values: [5], oldValues: [5], returns: [0] },
  ]
  const of = (part: typeof critic) =>
    valueLoss({ samples: part, totals: tokenTotals([2, 1]), options: { valueClip: 0.5 } }).statistics
  const whole = { tokens: 3, clipShare: 1 / 3, errorMean: 1 }
  expect(of(critic)).toEqual(whole)
  expect(mergeValueStatistics(critic.map(sample => of([sample])))).toEqual(whole)
  expect(explainedVariance([{ values: [1, 2], returns: [1, 2] }])).toBe(1)
  const flat = [1, 2].map(goal => ({ values: [1.5], returns: [goal] }))
  expect(explainedVariance(flat)).toBe(0)
  expect(explainedVariance([{ values: [1, 2], returns: [1, 1] }])).toBeUndefined()
})

it('of a reward model: equal scores are not right', () => {
  const scored = [
    { chosen: 2, rejected: 1 },
    { chosen: 3, rejected: -1 },
    { chosen: 1, rejected: 1 },
    { chosen: -2, rejected: 1 },
  ]
  const of = (part: typeof scored) =>
    losses['reward-model'].compute({ samples: part, totals: { pairs: 4 }, options: {} }).statistics
  const whole = { pairs: 4, accuracy: 0.5, chosenMean: 1, rejectedMean: 0.5 }
  expect(of(scored)).toEqual(whole)
  expect(mergeRewardModelStatistics([of(scored.slice(0, 3)), of(scored.slice(3))])).toEqual(whole)
})

it('of labelled responses', () => {
  const labelled = [
    { policy: -1, ref: -3, desirable: true },
    { policy: -2, ref: -2, desirable: true },
    { policy: -5, ref: -1, desirable: false },
  ]
  const of = (part: typeof labelled) =>
    losses.kto.compute({ samples: part, totals: { responses: 3, z0: 0 }, options: { beta: 0.5 } }).statistics
  const whole = { desirable: 2, undesirable: 1, desirableRewardMean: 0.5, undesirableRewardMean: -2 }
  expect(of(labelled)).toEqual(whole)
  expect(mergeKtoStatistics(labelled.map(sample => of([sample])))).toEqual(whole)
})

it('of pairs', () => {
  const pairs = [
    { policyChosen: -1, policyRejected: -2, refChosen: -2, refRejected: -2 },
    { policyChosen: -3, policyRejected: -1, refChosen: -2, refRejected: -2 },
  ]
  const of = (part: typeof pairs) =>
    preferenceLoss({ samples: part, totals: { pairs: 2 }, options: { loss: 'dpo', beta: 0.5 } }).statistics
  const whole = { pairs: 2, accuracy: 0.5, chosenRewardMean: 0, rejectedRewardMean: 0.25 }
  expect(of(pairs)).toEqual(whole)
  expect(mergePreferenceStatistics(pairs.map(pair => of([pair])))).toEqual(whole)
})
