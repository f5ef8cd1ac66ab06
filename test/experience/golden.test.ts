import { describe, expect, it } from 'vitest'
import { selectGroups } from '../../src/experience/index.js'
import {
  deriveAdvantages,
  initialRunningMoments,
  type KlController,
  meanKl,
  overlongPenalty,
  runningStd,
  shapeGroup,
  tokenKl,
  updateKlController,
  updateRunningMoments,
} from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { golden } from '../support/golden-maths.js'

describe('recorded numbers to 1e-9', () => {
  const cases = golden.estimators.map((entry, i) => ({ ...entry, name: `${entry.estimator} ${i % 3}` }))

  it.each(cases)('$name: token rewards, advantages and returns', ({ estimator, options, ...recorded }) => {
    const { samples } = deriveAdvantages({
      samples: recorded.rewards.map((reward, i) => ({
        promptId: Math.floor(i / options.nSamplesPerPrompt),
        reward,
        length: recorded.logprobs[i]!.length,
        logprobs: recorded.logprobs[i],
        refLogprobs: recorded.refLogprobs[i],
        values: recorded.values[i],
      })),
      options: { ...options, advantageEstimator: estimator },
    })
    for (const [i, sample] of samples.entries()) {
      expectClose(sample.tokenRewards, recorded.tokenRewards[i]!, undefined, `tokenRewards[${i}]`)
      expectClose(sample.advantages, recorded.advantages[i]!, undefined, `advantages[${i}]`)
      expectClose(sample.returns, recorded.returns[i]!, undefined, `returns[${i}]`)
    }
  })

  const means = golden.klLosses.filter(({ aggregation }) => aggregation === 'seq-mean-token-mean')
  it('has means of every KL estimator', () =>
    expect(means.map(({ estimator }) => estimator)).toEqual(['k1', 'k2', 'k3']))
  it.each(means)('$estimator: the mean over samples of the mean over tokens', ({ estimator, value, ...recorded }) => {
    const kl = recorded.logprobs.map((logprobs, i) =>
      tokenKl({ logprobs, refLogprobs: recorded.refLogprobs[i]!, estimator }),
    )
    expectClose([meanKl(kl)], [value])
  })

  it('running moments', () => {
    let moments = initialRunningMoments
    for (const { batch, mean, std, count } of golden.runningMoments) {
      moments = updateRunningMoments(moments, batch)
      expectClose([moments.mean, runningStd(moments), moments.count], [mean, std, count])
    }
  })

  it('adaptive KL coefficient', () => {
    const { initial, steps } = golden.adaptiveKl
    const { target, horizon } = steps[0]!
    let controller: KlController = { kind: 'adaptive', coef: initial, target, horizon }
    for (const { kl, nSteps, coef } of steps) {
      controller = updateKlController(controller, { kl, nSteps })
      expectClose([controller.coef], [coef])
    }
  })

  it.each(golden.dynamicSampling)('dynamic sampling of $needed groups', ({ needed, rounds, ...recorded }) => {
    const selection = selectGroups({ needed, rounds, maxResampleRounds: rounds.length - 1, degenerate: 'drop' })
    expect(selection.kept.map(({ round, place }) => [round, place])).toEqual(recorded.kept)
    expect(selection.roundsUsed).toBe(recorded.roundsUsed)
    expect(selection.droppedEqual).toHaveLength(recorded.droppedEqual)
    expect(selection.next).toEqual({ kind: 'full' })
  })
})

/** Small cases worked by hand, to the digits they were written down with. */
describe('numbers by hand', () => {
  const near = (actual: ArrayLike<number>, expected: readonly number[]) =>
    expect(Array.from(actual, value => value.toFixed(6))).toEqual(expected.map(value => value.toFixed(6)))

  it.each([
    ['k1', [0.2, -0.1, 0.3]],
    ['k2', [0.02, 0.005, 0.045]],
    ['k3', [0.018731, 0.005171, 0.040818]],
  ] as const)('%s', (estimator, expected) => {
    near(tokenKl({ logprobs: [-1, -0.5, -0.1], refLogprobs: [-1.2, -0.4, -0.4], estimator }), expected)
  })

  it.each([
    ['rloo', [0.666667, -0.666667, 0, 0], [-0.6, -0.6, 0.6, 0.6]],
    ['reinforce_baseline', [0.5, -0.5, 0, 0], [-0.45, -0.45, 0.45, 0.45]],
    ['dr_grpo', [0.5, -0.5, 0, 0], [-0.45, -0.45, 0.45, 0.45]],
    ['group_norm', [1.224745, -1.224745, 0, 0], [-0.866025, -0.866025, 0.866025, 0.866025]],
    ['grpo', [1.224745, -1.224745, 0, 0], [-0.866025, -0.866025, 0.866025, 0.866025]],
    ['cpgd', [1.224745, -1.224745, 0, 0], [-0.866025, -0.866025, 0.866025, 0.866025]],
    ['gae', [1, 0, 0.5, 0.5], [0.1, 0.1, 1, 1]],
    ['reinforce', [1, 0, 0.5, 0.5], [0.1, 0.1, 1, 1]],
  ] as const)('%s compares a group', (estimator, first, second) => {
    near(shapeGroup([1, 0, 0.5, 0.5], { estimator }), first)
    near(shapeGroup([0.1, 0.1, 1, 1], { estimator }), second)
  })

  it.each(['group_norm', 'grpo', 'cpgd'] as const)('%s adds groupNormEps to the standard deviation', estimator => {
    // 0.5 / (sqrt(1 / 6) + 1e-4), as TRL divides.
    near(shapeGroup([1, 0, 0.5, 0.5], { estimator, groupNormEps: 1e-4 }), [1.224445, -1.224445, 0, 0])
    near(shapeGroup([1e-4, 0], { estimator, groupNormEps: 1e-4 }), [0.292893, -0.292893])
    near(shapeGroup([3, 3], { estimator, groupNormEps: 1e-4 }), [0, 0])
    const samples = [1, 0].map(reward => ({ promptId: 'a', reward, length: 1 }))
    const { samples: derived } = deriveAdvantages({
      samples,
      options: { advantageEstimator: estimator, groupNormEps: 0.5 },
    })
    near(
      derived.flatMap(({ advantages }) => [...advantages]),
      [0.414214, -0.414214],
    )
  })

  it('overlong penalty', () => {
    const options = { maxNewTokens: 512, overlongBufferLen: 50, overlongBufferPenaltyFactor: 1 }
    near(
      [400, 462, 487, 512].map(length => overlongPenalty(length, options)),
      [0, 0, -0.5, -1],
    )
  })

  it('gae with KL in the rewards', () => {
    const { samples } = deriveAdvantages({
      samples: [
        { reward: 1, length: 2, logprobs: [-1, -0.5], refLogprobs: [-1.2, -0.4], values: [0.2, 0.4] },
        {
          reward: 0,
          length: 3,
          logprobs: [-0.3, -0.7, -0.1],
          refLogprobs: [-0.5, -0.7, -0.4],
          values: [0.1, 0.3, 0.5],
        },
      ],
      options: { advantageEstimator: 'gae', klCoef: 0.1, klEstimator: 'k1' },
    })
    near(samples[0]!.tokenRewards, [-0.02, 1.01])
    near(samples[0]!.advantages, [0.7595, 0.61])
    near(samples[0]!.returns, [0.9595, 1.01])
    near(samples[1]!.advantages, [-0.108325, -0.3035, -0.53])
    near(samples[1]!.returns, [-0.008325, -0.0035, -0.03])
  })

  it.each([
    [0.012, 0.010128],
    [0.05, 0.010128],
    [0, 0.009872],
  ])('a measured KL of %s moves the coefficient to %s', (kl, coef) => {
    const controller: KlController = { kind: 'adaptive', coef: 0.01, target: 0.01, horizon: 10_000 }
    near([updateKlController(controller, { kl, nSteps: 640 }).coef], [coef])
  })
})
