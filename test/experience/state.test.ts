import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  highEntropyMask,
  initialRunningMoments,
  type KlController,
  klControllerSchema,
  normalizeByRunningMoments,
  restoreKlController,
  restoreRunningMoments,
  runningStd,
  tokenKl,
  updateKlController,
  updateRunningMoments,
} from '../../src/maths/index.js'

const saved = <T>(value: T): unknown => JSON.parse(JSON.stringify(value))

describe('running moments', () => {
  it('saved and restored, go on as if nothing had happened', () => {
    const batches = fc.array(fc.array(fc.double({ min: -9, max: 9, noNaN: true }), { maxLength: 6 }), { maxLength: 6 })
    fc.assert(
      fc.property(batches, given => {
        const straight = given.reduce(updateRunningMoments, initialRunningMoments)
        const resumed = given.reduce(
          (moments, batch) => restoreRunningMoments(saved(updateRunningMoments(moments, batch))),
          initialRunningMoments,
        )
        expect(resumed).toEqual(straight)
      }),
    )
  })

  it.each([[[3]], [[3, 3, 3]], [[]], [[1e-12, 2e-12]]])(
    'a first rollout of %j has no scale: rewards are divided by 1',
    rewards => {
      const moments = updateRunningMoments(initialRunningMoments, rewards)
      expect(runningStd(moments)).toBe(1)
      expect(Array.from(normalizeByRunningMoments(rewards, moments, { minusMean: false }))).toEqual(rewards)
    },
  )

  it('what is not a saved state is refused', () => {
    for (const bad of [undefined, {}, { mean: 0, var: -1, count: 1 }, { mean: Number.NaN, var: 1, count: 1 }])
      expect(() => restoreRunningMoments(bad)).toThrow()
  })
})

describe('KL controllers', () => {
  const adaptive: KlController = { kind: 'adaptive', coef: 0.01, target: 6, horizon: 10_000 }

  it('saved and restored, go on as if nothing had happened', () => {
    const resumed = restoreKlController(saved(updateKlController(adaptive, { kl: 9, nSteps: 64 })))
    expect(resumed).toEqual(updateKlController(adaptive, { kl: 9, nSteps: 64 }))
    expect(restoreKlController(saved({ kind: 'fixed', coef: 0.3 }))).toEqual({ kind: 'fixed', coef: 0.3 })
  })

  it('fixed stays, whatever is measured', () => {
    expect(updateKlController({ kind: 'fixed', coef: 0.01 }, { kl: 100, nSteps: 64 })).toEqual({
      kind: 'fixed',
      coef: 0.01,
    })
  })

  it('at the target nothing changes, above it KL costs more, below less', () => {
    expect(updateKlController(adaptive, { kl: 6, nSteps: 64 }).coef).toBe(0.01)
    expect(updateKlController(adaptive, { kl: 7, nSteps: 64 }).coef).toBeGreaterThan(0.01)
    expect(updateKlController(adaptive, { kl: 5, nSteps: 64 }).coef).toBeLessThan(0.01)
  })

  it('a coefficient below 0, or no number, is refused', () => {
    expect(() => updateKlController(adaptive, { kl: 0, nSteps: 50_000 })).toThrow(
      'horizon: 10000 is too small for a rollout of 50000 samples',
    )
    expect(() => updateKlController(adaptive, { kl: Number.NaN, nSteps: 1 })).toThrow('not finite')
  })

  it('a config has its defaults, and nothing unknown', () => {
    expect(klControllerSchema.parse({ kind: 'fixed' })).toEqual({ kind: 'fixed', coef: 0.01 })
    expect(klControllerSchema.parse({ kind: 'adaptive', target: 6 })).toEqual(adaptive)
    expect(() => klControllerSchema.parse({ kind: 'adaptive' })).toThrow()
    expect(() => klControllerSchema.parse({ kind: 'fixed', target: 6 })).toThrow()
  })
})

describe('KL per token', () => {
  it('k2 and k3 are never negative, and 0 where the models agree', () => {
    const logprob = fc.double({ min: -20, max: 0, noNaN: true })
    fc.assert(
      fc.property(logprob, logprob, (lp, ref) => {
        for (const estimator of ['k2', 'k3'] as const) {
          expect(tokenKl({ logprobs: [lp], refLogprobs: [ref], estimator })[0]).toBeGreaterThanOrEqual(0)
          expect(tokenKl({ logprobs: [lp], refLogprobs: [lp], estimator })[0]).toBe(0)
        }
      }),
    )
  })

  it('of arrays of different lengths there is none', () => {
    expect(() => tokenKl({ logprobs: [-1], refLogprobs: [], estimator: 'k1' })).toThrow(RangeError)
  })
})

describe('high-entropy tokens', () => {
  it.each([
    [[0.1, 2, 0.5, 2], 0.5, [0, 1, 0, 1]],
    [[1, 1, 1, 1], 0.5, [1, 1, 0, 0]],
    [[0, 0, 0], 0.1, [1, 0, 0]],
    [[3, 1, 2], 0.99, [1, 0, 1]],
    [[3, 1, 2], 0, [1, 1, 1]],
    [[3, 1, 2], 1, [1, 1, 1]],
    [[], 0.5, []],
  ])('of %j a share of %s', (entropies, ratio, mask) => {
    expect(Array.from(highEntropyMask(entropies, ratio))).toEqual(mask)
  })

  it('keeps as many as the share says, none of lower entropy than one left out', () => {
    const entropies = fc.array(fc.double({ min: 0, max: 12, noNaN: true }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(entropies, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (given, ratio) => {
        const mask = highEntropyMask(given, ratio)
        const kept = given.filter((_, t) => mask[t] === 1)
        const left = given.filter((_, t) => mask[t] === 0)
        expect(kept).toHaveLength(Math.max(1, Math.floor(given.length * ratio)))
        expect(Math.min(...kept)).toBeGreaterThanOrEqual(Math.max(...left))
      }),
    )
  })

  it('a share that is none, and an entropy that is no number, are refused', () => {
    for (const ratio of [-0.1, 1.1, Number.NaN])
      expect(() => highEntropyMask([1], ratio)).toThrow('highEntropyTokenRatio')
    expect(() => highEntropyMask([1, Number.NaN], 0.5)).toThrow('token 1')
  })
})
