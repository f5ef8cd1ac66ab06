import { describe, expect, it } from 'vitest'
import {
  type AdvantageOptions,
  advantageEstimators,
  advantageOptionsShape,
  advantageOptionWarnings,
  deriveAdvantages,
  pickAdvantageOptions,
  RolloutError,
  type RolloutSample,
  resolveAdvantageOptions,
} from '../../src/maths/index.js'
import { groupEstimators } from '../support/rollouts.js'

const pair: RolloutSample[] = [
  { promptId: 'a', reward: 1, length: 2 },
  { promptId: 'a', reward: 0, length: 3 },
]
const derive = (samples: readonly RolloutSample[], options: AdvantageOptions) => deriveAdvantages({ samples, options })

describe('a rollout that cannot be used is refused, and the sample named', () => {
  const gae: AdvantageOptions = { advantageEstimator: 'gae' }
  const rloo: AdvantageOptions = { advantageEstimator: 'rloo' }
  const reinforce: AdvantageOptions = { advantageEstimator: 'reinforce' }
  const tokens = { logprobs: [-1, -1], refLogprobs: [-1, -1] }
  const cases: [string, readonly RolloutSample[], AdvantageOptions, string][] = [
    ['gae without values', pair, gae, 'sample 0: values: missing; gae needs the values of a critic'],
    [
      'values of another length',
      [{ reward: 1, length: 2, values: [1] }],
      gae,
      'sample 0: values: expected 2 numbers, one per token, got 1',
    ],
    ['no group', [{ reward: 1, length: 1 }], rloo, 'sample 0: promptId: missing; rloo compares the samples of a group'],
    [
      'a group of one',
      [...pair, { promptId: 'b', reward: 1, length: 1 }],
      rloo,
      'sample 2: promptId: "b" has 1 sample; rloo needs at least 2',
    ],
    [
      'groups of unequal size',
      [
        ...pair,
        ...pair.map(sample => ({ ...sample, promptId: 'b' })),
        ...[1, 2, 3].map(reward => ({ promptId: 7, reward, length: 1 })),
      ],
      rloo,
      'sample 4: promptId: 7 has 3 samples, expected 2 as in the other groups; complete the group, or remove all its samples',
    ],
    [
      'a group that is smaller than the only other',
      [...pair, ...[1, 2, 3].map(reward => ({ promptId: 7, reward, length: 1 }))],
      rloo,
      'sample 0: promptId: "a" has 2 samples, expected 3 as in the other groups',
    ],
    [
      'a group that is short everywhere',
      pair,
      { ...rloo, nSamplesPerPrompt: 4 },
      'promptId: "a" has 2 samples, expected 4 as nSamplesPerPrompt says',
    ],
    [
      'a coefficient without a reference',
      pair,
      { ...rloo, klCoef: 0.1 },
      'sample 0: refLogprobs: missing; klCoef 0.1 needs them; with klCoef 0 there is no KL',
    ],
    [
      'a reference for some',
      [
        { reward: 1, length: 2, ...tokens },
        { reward: 1, length: 1 },
      ],
      reinforce,
      'sample 1: refLogprobs: missing; other samples have them',
    ],
    [
      'a reference without log-probabilities',
      [{ reward: 1, length: 1, refLogprobs: [-1] }],
      reinforce,
      'sample 0: logprobs: missing; KL to the reference needs them',
    ],
    [
      'a reward that is not a number',
      [{ reward: Number.NaN, length: 1 }],
      reinforce,
      'sample 0: reward: expected a finite number, got NaN',
    ],
    [
      'a response without tokens',
      [{ reward: 1, length: 0 }],
      reinforce,
      'sample 0: length: expected at least one token, got 0',
    ],
    [
      'a log-probability of minus infinity',
      [{ reward: 1, length: 2, ...tokens, logprobs: [-1, Number.NEGATIVE_INFINITY] }],
      reinforce,
      'sample 0: logprobs: expected finite numbers, got -Infinity at token 1',
    ],
    [
      'KL that overflows',
      [{ reward: 1, length: 2, logprobs: [-1, -900], refLogprobs: [-1, 0] }],
      { ...reinforce, klEstimator: 'k3' },
      'KL is not finite at token 1',
    ],
    [
      'rewards that overflow',
      [{ reward: 1.5e308, length: 1, values: [-1.5e308] }],
      { ...gae },
      'sample 0: reward: the advantage at token 0 becomes Infinity',
    ],
  ]
  it.each(cases)('%s', (_, samples, options, message) => {
    expect(() => derive(samples, options)).toThrow(RolloutError)
    expect(() => derive(samples, options)).toThrow(message)
  })

  it('all of them, the first ten in words', () => {
    const samples = Array.from({ length: 12 }, () => ({ reward: Number.NaN, length: 1 }))
    const error = (() => {
      try {
        derive(samples, reinforce)
      } catch (error) {
        return error as RolloutError
      }
    })()
    expect(error?.problems).toHaveLength(12)
    expect(error?.message).toMatch(/sample 9: .*\nand 2 more$/)
  })
})

describe('options', () => {
  const problems = (options: Record<string, unknown>) => {
    const result = (() => {
      try {
        resolveAdvantageOptions(options as AdvantageOptions)
      } catch (error) {
        return error
      }
    })()
    return String((result as Error | undefined)?.message)
  }

  it.each(groupEstimators)('%s needs more than one sample per prompt', advantageEstimator => {
    expect(problems({ advantageEstimator, nSamplesPerPrompt: 1 })).toContain(
      'needs at least 2; gae and reinforce work with 1',
    )
  })
  it.each([
    [{ advantageEstimator: 'reinforce++' }, 'advantageEstimator'],
    [{ gama: 0.9 }, 'gama'],
    [{ gamma: 1.5 }, 'gamma'],
    [{ lambd: -1 }, 'lambd'],
    [{ klCoef: -1 }, 'klCoef'],
    [{ klEstimator: 'k4' }, 'klEstimator'],
    [{ rewardClip: -1 }, 'rewardClip'],
    [{ advantageClip: Number.NaN }, 'advantageClip'],
    [{ overlongBuffer: true }, 'maxNewTokens'],
    [{ overlongBuffer: true, maxNewTokens: 8, overlongBufferLen: 0 }, 'overlongBufferLen'],
    [{ overlongBuffer: true, maxNewTokens: 8, overlongBufferLen: 9 }, 'overlongBufferLen'],
    [{ rewardRunningNormMinusMean: true }, 'rewardRunningNormMinusMean'],
  ])('%j is refused', (options, named) => {
    expect(problems(options)).toContain(named)
  })

  it('the documented defaults', () => {
    expect(resolveAdvantageOptions({})).toEqual({
      advantageEstimator: 'gae',
      groupNormEps: 1e-9,
      gamma: 1,
      turnGamma: 1,
      stepWeight: 1,
      lambd: 0.95,
      useKlLoss: false,
      overlongBuffer: false,
      overlongBufferLen: 50,
      overlongBufferPenaltyFactor: 1,
      rewardRunningNorm: false,
      rewardRunningNormMinusMean: false,
      rewardClip: 0,
      advantagesNorm: false,
      advantageClip: 0,
    })
  })

  it('one list of estimators is read everywhere: each is accepted and computes', () => {
    const samples = pair.map(sample => ({ ...sample, values: new Array(sample.length).fill(0) }))
    for (const advantageEstimator of advantageEstimators)
      expect(derive(samples, { advantageEstimator }).samples[0]!.advantages[0]).toBeGreaterThan(0)
  })

  it('reinforce_baseline always uses gamma 1, and one warning says so', () => {
    const options = { advantageEstimator: 'reinforce_baseline', gamma: 0.5 } as const
    expect(advantageOptionWarnings(resolveAdvantageOptions(options))).toEqual([
      'reinforce_baseline always uses gamma 1; gamma 0.5 is not used',
    ])
    expect(advantageOptionWarnings(resolveAdvantageOptions({ ...options, gamma: 1 }))).toEqual([])
    expect(Array.from(derive(pair, options).samples[0]!.returns)).toEqual([0.5, 0.5])
  })

  it('are taken out of a larger config', () => {
    const config = { ...resolveAdvantageOptions({ advantageEstimator: 'rloo' }), temperature: 1 }
    expect(pickAdvantageOptions(config)).toEqual(resolveAdvantageOptions({ advantageEstimator: 'rloo' }))
    expect(Object.values(advantageOptionsShape).every(({ description }) => description)).toBe(true)
  })
})

describe('the steps', () => {
  const tokens = (sample: RolloutSample): RolloutSample => ({
    ...sample,
    logprobs: new Array(sample.length).fill(-1),
    refLogprobs: new Array(sample.length).fill(-1.5),
  })

  it('KL is measured also where it costs nothing, and costs 0.01 where nothing is said', () => {
    const samples = pair.map(tokens)
    const rloo = { advantageEstimator: 'rloo' } as const
    expect(derive(samples, rloo).info).toMatchObject({ kl: 0.5, klCoef: 0.01 })
    expect(derive(samples, { ...rloo, klCoef: 0 }).info).toMatchObject({ kl: 0.5, klCoef: 0 })
    const asLoss = derive(samples, { ...rloo, useKlLoss: true, klCoef: 0.1 })
    expect(asLoss.info.klCoef).toBe(0)
    expect(asLoss.info.kl).toBeCloseTo(Math.exp(-0.5) - 1 + 0.5, 12)
    expect(Array.from(asLoss.samples[0]!.tokenRewards)).toEqual([0, 1])
    expect(derive(pair, rloo).info).toMatchObject({ kl: undefined, klCoef: 0 })
  })

  it('the overlong penalty comes before the comparison, so that it decides between equal rewards', () => {
    const samples = [2, 8].map(length => ({ promptId: 0, reward: 1, length }))
    const options = { advantageEstimator: 'cpgd', overlongBuffer: true, overlongBufferLen: 4, maxNewTokens: 8 } as const
    const { samples: derived, info } = derive(samples, options)
    expect(derived.map(({ overlongPenalty }) => overlongPenalty)).toEqual([0, -1])
    expect(derived[0]!.shapedReward).toBeCloseTo(Math.SQRT1_2, 6)
    expect(derived[1]!.shapedReward).toBeCloseTo(-Math.SQRT1_2, 6)
    expect(info.groups?.zeroVariance).toBe(0)
    expect(info.reward?.mean).toBe(1)
  })

  it('cpgd gives every sample of a group its own advantage, by its own reward', () => {
    const rewards = [1, 0, 0.25]
    const { samples } = derive(
      rewards.map(reward => ({ promptId: 0, reward, length: 2 })),
      { advantageEstimator: 'cpgd' },
    )
    expect(new Set(samples.map(({ advantages }) => advantages[0])).size).toBe(3)
    expect(samples[0]!.advantages[0]).toBeGreaterThan(1)
  })

  it('running moments are updated once with all shaped rewards, and an evaluation that drops them changes nothing', () => {
    const samples = [3, 1, 2, 2].map((reward, i) => ({ promptId: i >> 1, reward, length: 1 }))
    const options = { advantageEstimator: 'reinforce', rewardRunningNorm: true } as const
    const first = deriveAdvantages({ samples, options })
    expect(first.runningMoments).toMatchObject({ mean: 2, var: 0.5, count: 4 })
    expect(first.samples[0]!.shapedReward).toBeCloseTo(3 / Math.sqrt(2 / 3), 12)
    const next = deriveAdvantages({ samples, options, runningMoments: first.runningMoments })
    expect(next.runningMoments.count).toBe(8)
    expect(deriveAdvantages({ samples, options, runningMoments: first.runningMoments })).toEqual(next)
    const centered = deriveAdvantages({ samples, options: { ...options, rewardRunningNormMinusMean: true } })
    expect(centered.samples.reduce((sum, { shapedReward }) => sum + shapedReward, 0)).toBeCloseTo(0, 12)
  })

  it('without rewardRunningNorm the moments stay as they were', () => {
    const runningMoments = { mean: 1, var: 2, count: 3 }
    expect(
      deriveAdvantages({ samples: pair, options: { advantageEstimator: 'rloo' }, runningMoments }).runningMoments,
    ).toBe(runningMoments)
  })

  it('clip fractions are measured before the clamp, over samples and over tokens', () => {
    const samples = [5, 0, -0.5, 0.5].map((reward, i) => ({ reward, length: i + 1, values: new Array(i + 1).fill(0) }))
    const { info, samples: derived } = derive(samples, {
      advantageEstimator: 'gae',
      lambd: 1,
      rewardClip: 2,
      advantageClip: 0.5,
    })
    expect(info.rewardClipFraction).toBe(0.25)
    expect(derived[0]!.shapedReward).toBe(2)
    // One token of ten: 2 is clamped to 0.5; an advantage of exactly 0.5 is inside.
    expect(info.advantageClipFraction).toBe(0.1)
    expect(Array.from(derived[0]!.advantages)).toEqual([0.5])
    expect(Array.from(derived[0]!.returns)).toEqual([2])
  })

  it('a response cut at maxNewTokens ends like any other: nothing is expected after it', () => {
    const values = [5, 5]
    const cut = derive([{ reward: 1, length: 2, values }], { advantageEstimator: 'gae', lambd: 1, maxNewTokens: 2 })
    expect(cut.samples[0]!.advantages[1]).toBe(1 - 5)
  })

  it('what is logged', () => {
    const samples = [1, 0, 1, 1].map((reward, i) => ({ promptId: i >> 1, reward, length: i + 1 }))
    const { info } = derive(samples, { advantageEstimator: 'dr_grpo' })
    expect(info).toMatchObject({
      samples: 4,
      tokens: 10,
      reward: { mean: 0.75, min: 0, max: 1, p50: 1, p80: 1 },
      shapedReward: { mean: 0, min: -0.5, max: 0.5 },
      responseLength: { mean: 2.5, min: 1, max: 4, p50: 2.5 },
      return: { mean: 0, min: -0.5, max: 0.5 },
      kl: undefined,
      klCoef: 0,
      advantages: { count: 10, min: -0.5, max: 0.5 },
      rewardClipFraction: 0,
      advantageClipFraction: 0,
      groups: { count: 2, zeroVariance: 1, zeroVarianceShare: 0.5, best: 1, worst: 0.5 },
    })
    expect(info.advantages!.mean).toBeCloseTo(-0.05, 12)
    expect(info.responseLength!.p80).toBeCloseTo(3.4, 12)
  })

  it('an empty rollout is empty', () => {
    expect(derive([], { advantageEstimator: 'rloo' })).toMatchObject({
      samples: [],
      info: {
        samples: 0,
        tokens: 0,
        reward: undefined,
        advantages: undefined,
        groups: undefined,
        advantageClipFraction: 0,
      },
    })
  })
})
