/**
 * Where a loss bends: exactly at a bound the side that is not clipped is taken (as automatic derivatives of min, max and clamp
 * do), the token is not counted as clipped, and one step further it is.
 */
import { describe, expect, it } from 'vitest'
import {
  type PolicyLossOptions,
  type PolicyLossResult,
  policyLoss,
  tokenTotals,
  type ValueLossResult,
  valueLoss,
} from '../../src/maths/index.js'

/** One response of one token at this log-ratio. */
function policy(options: PolicyLossOptions, d: number, advantage: number): PolicyLossResult {
  const samples = [{ logprobs: [d], oldLogprobs: [0], advantages: [advantage] }]
  return policyLoss({ samples, totals: tokenTotals([1]), options })
}

const slope = ({ gradients }: PolicyLossResult) => gradients[0]!.logprobs[0]!

/** The log-ratio whose ratio is exactly this in floating point, and the next number beyond it. */
function logOf(ratio: number): number {
  let d = Math.log(ratio)
  for (let step = 0; Math.exp(d) !== ratio; step++) {
    if (step > 100) throw new Error(`no logarithm of ${ratio}`)
    d += (Math.exp(d) < ratio ? 1 : -1) * Math.abs(d) * 2 ** -53
  }
  return d
}

const bit = 1e-9
// Powers of two: 1 minus and plus the clips, and the ratios at them, are exact.
const clip = { clipLow: 0.5, clipHigh: 1 }

describe.each([{ loss: 'ppo' }, { loss: 'gspo' }] as const)('$loss', ({ loss }) => {
  it('from above', () => {
    const at = policy({ loss, ...clip }, logOf(2), 3)
    expect(at.value).toBe(-6)
    expect(slope(at)).toBe(-6)
    expect(at.statistics.clipHighShare).toBe(0)
    const beyond = policy({ loss, ...clip }, logOf(2) + bit, 3)
    expect(beyond.value).toBe(-6)
    expect(slope(beyond)).toBe(0)
    expect(beyond.statistics.clipHighShare).toBe(1)
    // With a negative advantage that side has no bound.
    expect(slope(policy({ loss, ...clip }, logOf(2) + bit, -3))).toBeCloseTo(6, 6)
  })

  it('from below', () => {
    const at = policy({ loss, ...clip }, logOf(0.5), -3)
    expect(at.value).toBe(1.5)
    expect(slope(at)).toBe(1.5)
    expect(at.statistics.clipLowShare).toBe(0)
    const beyond = policy({ loss, ...clip }, logOf(0.5) - bit, -3)
    expect(beyond.value).toBe(1.5)
    expect(slope(beyond)).toBe(0)
    expect(beyond.statistics.clipLowShare).toBe(1)
    expect(slope(policy({ loss, ...clip }, logOf(0.5) - bit, 3))).toBeCloseTo(-1.5, 6)
  })

  it('without advantage there is nothing to clip', () => {
    const { value, statistics, gradients } = policy({ loss, ...clip }, 5, 0)
    expect(value).toBe(0)
    expect(gradients[0]!.logprobs).toEqual(Float64Array.of(0))
    expect(statistics.clipHighShare).toBe(0)
  })
})

it('ppo: dual clip', () => {
  const options = { loss: 'ppo', ...clip, dualClip: 4 } as const
  const at = policy(options, logOf(4), -3)
  expect(at.value).toBe(12)
  expect(slope(at)).toBe(12)
  expect(at.statistics.dualClipShare).toBe(0)
  const beyond = policy(options, logOf(4) + bit, -3)
  expect(beyond.value).toBe(12)
  expect(slope(beyond)).toBe(0)
  expect(beyond.statistics.dualClipShare).toBe(1)
  // Positive advantages are clipped before.
  expect(policy(options, logOf(4) + bit, 3).statistics).toMatchObject({ dualClipShare: 0, clipHighShare: 1 })
})

it('gmpo bends at log-ratios', () => {
  const options = { loss: 'gmpo', clipLow: 0.5, clipHigh: 1 } as const
  expect(slope(policy(options, 1, 3))).toBe(-3 * Math.E)
  expect(slope(policy(options, 1 + bit, 3))).toBe(0)
  expect(policy(options, 1 + bit, 3).value).toBe(-3 * Math.E)
  expect(slope(policy(options, 1 + bit, -3))).toBeCloseTo(3 * Math.E, 6)
  expect(slope(policy(options, -0.5, -3))).toBe(3 * Math.exp(-0.5))
  expect(slope(policy(options, -0.5 - bit, -3))).toBe(0)
  expect(policy(options, -0.5 - bit, -3).statistics).toMatchObject({ clipLowShare: 1, clipHighShare: 0 })
  expect(policy(options, 7, 0).value).toBe(0)
})

it('cispo keeps the gradient on both sides', () => {
  const options = { loss: 'cispo', ...clip } as const
  expect(slope(policy(options, logOf(2), 3))).toBe(-6)
  expect(policy(options, logOf(2), 3).statistics.clipHighShare).toBe(0)
  expect(slope(policy(options, logOf(2) + bit, 3))).toBe(-6)
  expect(policy(options, logOf(2) + bit, 3).statistics.clipHighShare).toBe(1)
  expect(slope(policy(options, logOf(0.5) - bit, 3))).toBe(-1.5)
  expect(policy(options, logOf(0.5) - bit, 3).statistics.clipLowShare).toBe(1)
})

it('cpg bends at the logarithms of its bounds', () => {
  const options = { loss: 'cpg', ...clip } as const
  const [low, high] = [Math.log1p(-0.5), Math.log1p(1)]
  expect(slope(policy(options, high, 3))).toBe(-3)
  expect(slope(policy(options, high + bit, 3))).toBe(0)
  expect(policy(options, high + bit, 3).value).toBeCloseTo(-3 * high, 12)
  expect(slope(policy(options, low, -3))).toBe(3)
  expect(slope(policy(options, low - bit, -3))).toBe(0)
  expect(policy(options, low - bit, -3).value).toBeCloseTo(3 * low, 12)
  // The drift goes on where the rest is clipped.
  expect(slope(policy({ ...options, driftCoef: 0.5 }, high + bit, 3))).toBeCloseTo(0.5, 6)
  expect(slope(policy({ ...options, driftCoef: 0.5 }, 0, 0))).toBe(0)
})

describe('value', () => {
  const value = (moved: number, goal: number): ValueLossResult =>
    valueLoss({
      samples: [{ values: [moved], oldValues: [0], returns: [goal] }],
      totals: tokenTotals([1]),
      options: { valueClip: 0.5 },
    })

  it.each([
    ['at the bound', 0.5, 4, -3.5, 0],
    ['beyond it, towards the return', 0.75, 4, 0, 1],
    ['beyond it, away from the return', 0.75, -4, 4.75, 0],
    ['at the lower bound', -0.5, -4, 3.5, 0],
    ['beyond that', -0.75, -4, 0, 1],
    ['as far from the return as the clipped value', 0.75, 0.625, 0.125, 0],
  ])('%s', (_, moved, goal, gradient, clipShare) => {
    const result = value(moved, goal)
    expect(result.gradients[0]!.values[0]).toBe(gradient)
    expect(result.statistics.clipShare).toBe(clipShare)
  })
})

it('the cap of importance weights: at it a weight is not cut', () => {
  const weighed = (engine: number) =>
    policyLoss({
      samples: [{ logprobs: [0], oldLogprobs: [0], engineLogprobs: [engine], advantages: [1] }],
      totals: tokenTotals([1]),
      options: { loss: 'ppo', tisCap: 2 },
    })
  expect(weighed(-logOf(2))).toMatchObject({ value: -2, statistics: { importanceMean: 2, importanceCappedShare: 0 } })
  expect(weighed(-logOf(2) - bit)).toMatchObject({ value: -2, statistics: { importanceCappedShare: 1 } })
})
