/** Advantages of episodes with holes, against tables that were written by hand. */
import { describe, expect, test } from 'vitest'
import { deriveAdvantages, type RolloutSample } from '../../src/maths/index.js'

/** Two turns of 2 and 1 tokens; the turns earn 1 and 2, and the episode 1 more at its end. */
const episode: RolloutSample = {
  promptId: 'a',
  reward: 4,
  length: 3,
  turns: [
    { length: 2, reward: 1, stateKey: 's' },
    { length: 1, reward: 2, stateKey: 't' },
  ],
}
const derive = (samples: readonly RolloutSample[], options: object) =>
  deriveAdvantages({ samples, options: { klCoef: 0, ...options } }).samples.map(one => ({
    rewards: [...one.tokenRewards],
    advantages: [...one.advantages],
  }))

describe('rewards of turns', () => {
  test('stand at the ends of their turns, and pass through the holes between them', () => {
    const options = { advantageEstimator: 'reinforce' }
    expect(derive([episode], options)).toEqual([{ rewards: [0, 1, 3], advantages: [4, 4, 3] }])
    // Between tokens 1 and 2 a turn ends.
    expect(derive([episode], { ...options, turnGamma: 0.5 })).toEqual([
      { rewards: [0, 1, 3], advantages: [2.5, 2.5, 3] },
    ])
    expect(derive([episode], { ...options, gamma: 0.5 })).toEqual([{ rewards: [0, 1, 3], advantages: [1.25, 2.5, 3] }])
    expect(derive([episode], { ...options, gamma: 0.5, turnGamma: 0.5 })).toEqual([
      { rewards: [0, 1, 3], advantages: [0.875, 1.75, 3] },
    ])
  })

  test('GAE goes from the last token of a turn to the first sampled token of the next', () => {
    const values = [0.5, 1, 2]
    // Token 2: 3 - 2 = 1. Token 1: 1 + 0.5 * 2 - 1 + 0.5 * 1 = 1.5. Token 0: 0 + 1 - 0.5 + 1.5 = 2.
    expect(derive([{ ...episode, values }], { advantageEstimator: 'gae', lambd: 1, turnGamma: 0.5 })).toEqual([
      { rewards: [0, 1, 3], advantages: [2, 1.5, 1] },
    ])
  })

  test('a sample without turns is what it was', () => {
    const { turns: _, ...plain } = episode
    for (const advantageEstimator of ['reinforce', 'reinforce_baseline'])
      expect(derive([plain, { ...plain, reward: 2 }], { advantageEstimator, turnGamma: 0.5 })).toEqual(
        derive([plain, { ...plain, reward: 2 }], { advantageEstimator }),
      )
  })
})

describe('groups', () => {
  const other: RolloutSample = { ...episode, reward: 2, turns: [{ length: 3, stateKey: 's' }] }

  test('compare whole episodes, and spread the difference over all sampled tokens', () => {
    expect(derive([episode, other], { advantageEstimator: 'dr_grpo', stepWeight: 0 })).toEqual([
      { rewards: [0, 0, 1], advantages: [1, 1, 1] },
      { rewards: [0, 0, -1], advantages: [-1, -1, -1] },
    ])
    expect(
      derive([episode, other], { advantageEstimator: 'dr_grpo', stepWeight: 0, turnGamma: 0.5 })[0]!.advantages,
    ).toEqual([0.5, 0.5, 1])
  })

  test('GiGPO: turns that acted in the same state are compared by their returns', () => {
    // State s: returns 4 and 2, so +1 and -1. State t was met once: 0.
    expect(derive([episode, other], { advantageEstimator: 'dr_grpo' }).map(one => one.advantages)).toEqual([
      [2, 2, 1],
      [-2, -2, -2],
    ])
    // With turnGamma the first return is 1 + 0.5 * 3 = 2.5, and the difference to the mean 0.25.
    expect(
      derive([episode, other], { advantageEstimator: 'dr_grpo', turnGamma: 0.5, stepWeight: 2 }).map(
        one => one.advantages,
      ),
    ).toEqual([
      [1, 1, 1],
      [-1.5, -1.5, -1.5],
    ])
    // States of other prompts are other states.
    const apart = [episode, { ...episode, reward: 2 }, { ...other, promptId: 'b' }, { ...other, promptId: 'b' }]
    expect(derive(apart, { advantageEstimator: 'dr_grpo' })[2]!.advantages).toEqual([0, 0, 0])
  })

  test('turns that do not add up are an error', () => {
    const wrong = { ...episode, turns: [{ length: 2 }] }
    expect(() => derive([wrong], { advantageEstimator: 'reinforce' })).toThrow(
      /turns: they have 2 tokens, and the sample has 3/,
    )
  })
})
