import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeGroup, type GroupMember } from '../../src/experience/index.js'
import {
  type AdvantageOptions,
  deriveAdvantages,
  initialRunningMoments,
  mergeMoments,
  momentsOf,
  noMoments,
  type RolloutSample,
  runningStd,
  sampleStd,
  shapeGroup,
  tokenStatistics,
  updateRunningMoments,
  whitenInPlace,
} from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { allEstimators, groupEstimators, rewards, rollouts } from '../support/rollouts.js'

const options = fc.record<AdvantageOptions>({
  advantageEstimator: fc.constantFrom(...allEstimators),
  gamma: fc.constantFrom(1, 0.5),
  lambd: fc.constant(0.75),
  klCoef: fc.constantFrom(0, 0.125),
  klEstimator: fc.constantFrom('k1', 'k2', 'k3'),
  overlongBuffer: fc.boolean(),
  overlongBufferLen: fc.constant(4),
  maxNewTokens: fc.constant(8),
  rewardRunningNorm: fc.boolean(),
  rewardClip: fc.constantFrom(0, 1),
  advantagesNorm: fc.boolean(),
  advantageClip: fc.constantFrom(0, 1),
})

const groupRewards = fc.array(rewards, { minLength: 2, maxLength: 8 })
const spread = (rewards: readonly number[]) => sampleStd(momentsOf(rewards))

describe('comparison within a group', () => {
  it.each(groupEstimators)('%s: adding a number to all rewards changes nothing', estimator => {
    fc.assert(
      fc.property(groupRewards, fc.double({ min: -100, max: 100, noNaN: true }), (rewards, shift) => {
        expectClose(
          shapeGroup(
            rewards.map(reward => reward + shift),
            { estimator },
          ),
          shapeGroup(rewards, { estimator }),
        )
      }),
    )
  })

  it.each(['rloo', 'reinforce_baseline', 'dr_grpo'] as const)(
    '%s: scaling the rewards scales the result',
    estimator => {
      fc.assert(
        fc.property(groupRewards, fc.double({ min: 0.01, max: 100, noNaN: true }), (rewards, scale) => {
          const scaled = shapeGroup(
            rewards.map(reward => reward * scale),
            { estimator },
          )
          expectClose(
            scaled,
            shapeGroup(rewards, { estimator }).map(value => value * scale),
          )
        }),
      )
    },
  )

  it.each(['group_norm', 'grpo', 'cpgd'] as const)(
    '%s: scaling the rewards changes nothing but by the epsilon',
    estimator => {
      fc.assert(
        fc.property(groupRewards, fc.double({ min: 0.1, max: 100, noNaN: true }), (rewards, scale) => {
          fc.pre(spread(rewards) > 0.5)
          const scaled = shapeGroup(
            rewards.map(reward => reward * scale),
            { estimator },
          )
          for (const [i, value] of shapeGroup(rewards, { estimator }).entries()) expect(scaled[i]).toBeCloseTo(value, 6)
        }),
      )
    },
  )

  it.each(groupEstimators)('%s: a group of equal rewards gets exactly 0', estimator => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: 2, max: 64 }),
        (reward, size) => {
          expect(Array.from(shapeGroup(new Float64Array(size).fill(reward), { estimator }))).toEqual(
            new Array(size).fill(0),
          )
        },
      ),
    )
    // Their sums in float32 would be one digit off, and the comparison with the mean not 0.
    for (const reward of [0.1, 0.7, 0.9])
      expect(Array.from(shapeGroup(new Array(8).fill(reward), { estimator }))).toEqual(new Array(8).fill(0))
  })

  it.each(groupEstimators)('%s: the members of a group add up to 0', estimator => {
    fc.assert(
      fc.property(groupRewards, rewards => {
        expectClose([shapeGroup(rewards, { estimator }).reduce((sum, value) => sum + value, 0)], [0])
      }),
    )
  })

  it('grpo is group_norm in every step', () => {
    fc.assert(
      fc.property(rollouts, options, (samples, given) => {
        const [one, other] = (['grpo', 'group_norm'] as const).map(advantageEstimator =>
          deriveAdvantages({ samples, options: { ...given, advantageEstimator } }),
        )
        expect(one).toEqual(other)
      }),
    )
  })
})

describe('a rollout of ragged lengths', () => {
  it('the order of samples within groups, and of groups, changes nothing', () => {
    const shuffled = rollouts.chain(samples =>
      fc
        .shuffledSubarray(Array.from(samples.keys()), { minLength: samples.length, maxLength: samples.length })
        .map(order => ({ samples, order })),
    )
    fc.assert(
      fc.property(shuffled, options, ({ samples, order }, given) => {
        const plain = deriveAdvantages({ samples, options: given })
        const other = deriveAdvantages({ samples: order.map(place => samples[place]!), options: given })
        for (const [i, place] of order.entries()) {
          expectClose(
            other.samples[i]!.advantages,
            plain.samples[place]!.advantages,
            undefined,
            `advantages of ${place}`,
          )
          expectClose(other.samples[i]!.returns, plain.samples[place]!.returns, undefined, `returns of ${place}`)
        }
        expectClose([other.info.kl!, other.info.reward!.mean], [plain.info.kl!, plain.info.reward!.mean])
        expect(other.info.groups!.zeroVariance).toBe(plain.info.groups!.zeroVariance)
      }),
    )
  })

  it('every sample gets one advantage and one return per token, and inputs stay as they were', () => {
    fc.assert(
      fc.property(rollouts, options, (samples, given) => {
        const before = structuredClone({ samples, given })
        const derived = deriveAdvantages({ samples, options: given })
        expect(derived.samples.map(({ advantages }) => advantages.length)).toEqual(samples.map(({ length }) => length))
        expect(derived.samples.map(({ returns }) => returns.length)).toEqual(samples.map(({ length }) => length))
        expect({ samples, given }).toEqual(before)
      }),
    )
  })

  it('without normalisation over the rollout, each group is as if it were alone, with the same gamma', () => {
    fc.assert(
      fc.property(rollouts, options, (samples, given) => {
        const alone = { ...given, rewardRunningNorm: false, advantagesNorm: false }
        const whole = deriveAdvantages({ samples, options: alone })
        for (const promptId of new Set(samples.map(sample => sample.promptId))) {
          const places = Array.from(samples.keys()).filter(place => samples[place]!.promptId === promptId)
          const part = deriveAdvantages({ samples: places.map(place => samples[place]!), options: alone })
          for (const [i, place] of places.entries())
            expect(part.samples[i]!.advantages).toEqual(whole.samples[place]!.advantages)
        }
      }),
    )
  })

  it.each(allEstimators)('%s: whitening leaves mean 0, deviation 1 and the returns', advantageEstimator => {
    fc.assert(
      fc.property(rollouts, samples => {
        const given = { advantageEstimator, klCoef: 0 }
        const plain = deriveAdvantages({ samples, options: given })
        fc.pre(plain.info.advantages!.std > 1e-3)
        const whitened = deriveAdvantages({ samples, options: { ...given, advantagesNorm: true } })
        expect(whitened.info.advantages!.mean).toBeCloseTo(0, 9)
        expect(whitened.info.advantages!.std).toBeCloseTo(1, 5)
        for (const [i, { returns }] of whitened.samples.entries()) expect(returns).toEqual(plain.samples[i]!.returns)
      }),
    )
  })

  it('whitening of one token, or of equal ones, gives 0', () => {
    // The mean of ten times 0.1 is not 0.1 in float64.
    for (const lengths of [[1], [10], [3, 5]]) {
      const advantages = lengths.map(length => new Float64Array(length).fill(0.1))
      whitenInPlace(advantages)
      expect(advantages).toEqual(lengths.map(length => new Float64Array(length)))
    }
  })
})

describe('statistics do not depend on how a rollout was split', () => {
  const splits = fc.array(fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { maxLength: 12 }), {
    maxLength: 8,
  })

  it('moments of the parts merge into those of the whole, in any order', () => {
    fc.assert(
      fc.property(splits, parts => {
        const whole = momentsOf(parts.flat())
        for (const order of [parts, parts.toReversed()]) {
          const merged = order.map(momentsOf).reduce(mergeMoments, noMoments)
          expectClose([merged.count, merged.mean, sampleStd(merged)], [whole.count, whole.mean, sampleStd(whole)])
        }
      }),
    )
  })

  it('token statistics are those of all tokens together', () => {
    fc.assert(
      fc.property(splits, parts => {
        const whole = tokenStatistics([parts.flat()])
        const split = tokenStatistics(parts)
        expect(split === undefined).toBe(whole === undefined)
        if (whole && split) expectClose(Object.values(split), Object.values(whole))
      }),
    )
  })

  it('running moments of several rollouts are those of all their rewards', () => {
    fc.assert(
      fc.property(splits, parts => {
        const all = parts.flat()
        fc.pre(all.length > 1 && sampleStd(momentsOf(all)) > 1e-3)
        const moments = parts.reduce(updateRunningMoments, initialRunningMoments)
        expectClose([moments.mean, runningStd(moments)], [momentsOf(all).mean, sampleStd(momentsOf(all))])
      }),
    )
  })
})

describe('failures that have to do with the reward', () => {
  it('leave the mean advantage at 0: a group that lost a member is completed, or dropped whole', () => {
    const attempts = fc.array(
      fc.record({ reward: fc.constantFrom(0, 0.25, 1), luck: fc.double({ min: 0, max: 1, noNaN: true }) }),
      {
        minLength: 8,
        maxLength: 8,
      },
    )
    fc.assert(
      fc.property(
        fc.array(attempts, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...groupEstimators),
        (prompts, advantageEstimator) => {
          // The better a response, the likelier its reward fails.
          const lost = ({ reward, luck }: { reward: number; luck: number }) => luck < 0.2 + 0.6 * reward
          const samples: RolloutSample[] = []
          let dropped = 0
          for (const [promptId, results] of prompts.entries()) {
            const members: GroupMember[] = []
            let step = completeGroup({ members, nSamplesPerPrompt: 4, maxSamples: 8 })
            while (step.kind === 'sample') {
              for (const sampleIndex of step.sampleIndices)
                members.push({ sampleIndex, outcome: lost(results[sampleIndex]!) ? 'lost' : 'scored' })
              step = completeGroup({ members, nSamplesPerPrompt: 4, maxSamples: 8 })
            }
            if (step.kind === 'drop') dropped++
            else
              for (const index of step.sampleIndices)
                samples.push({ promptId, reward: results[index]!.reward, length: 1 + index })
          }
          const { samples: derived } = deriveAdvantages({
            samples,
            options: { advantageEstimator, nSamplesPerPrompt: 4 },
          })
          expect(derived).toHaveLength(4 * (prompts.length - dropped))
          for (let first = 0; first < derived.length; first += 4)
            expectClose([derived.slice(first, first + 4).reduce((sum, { shapedReward }) => sum + shapedReward, 0)], [0])
        },
      ),
    )
  })
})
