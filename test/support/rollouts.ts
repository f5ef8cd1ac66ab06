import fc from 'fast-check'
import type { AdvantageEstimator, RolloutSample } from '../../src/maths/index.js'

export const groupEstimators = ['rloo', 'reinforce_baseline', 'dr_grpo', 'group_norm', 'grpo', 'cpgd'] as const
export const allEstimators = ['gae', 'reinforce', ...groupEstimators] as const satisfies readonly AdvantageEstimator[]

/** Multiples of a power of two: sums of them are exact, so that two that are equal on paper are equal in float64 too. */
const multiples = (step: number, { min, max }: { min: number; max: number }) =>
  fc.integer({ min: min / step, max: max / step }).map(count => count * step)

export const rewards = multiples(1 / 8, { min: -5, max: 5 })
const logprob = multiples(1 / 64, { min: -4, max: 0 })
const value = multiples(1 / 64, { min: -2, max: 2 })

/** A response of its own length, with everything any estimator reads. */
function sample(promptId: number): fc.Arbitrary<RolloutSample> {
  return fc.integer({ min: 1, max: 9 }).chain(length => {
    const tokens = (numbers: fc.Arbitrary<number>) => fc.array(numbers, { minLength: length, maxLength: length })
    return fc.record({
      promptId: fc.constant(promptId),
      reward: rewards,
      length: fc.constant(length),
      logprobs: tokens(logprob),
      refLogprobs: tokens(logprob),
      values: tokens(value),
    })
  })
}

/** A rollout of ragged lengths: one to four prompts with two to five samples each, prompt-major. */
export const rollouts: fc.Arbitrary<RolloutSample[]> = fc
  .record({ groups: fc.integer({ min: 1, max: 4 }), size: fc.integer({ min: 2, max: 5 }) })
  .chain(({ groups, size }) =>
    fc.tuple(...Array.from({ length: groups * size }, (_, i) => sample(Math.floor(i / size)))),
  )
