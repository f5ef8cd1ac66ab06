/** Groups of samples: completed, replaced or dropped whole, in whatever order samples and rewards come. */
import { describe, expect, test } from 'vitest'
import { batchReward, sampleReward } from '../../src/reward/index.js'
import { makeMaker, makeModel, prompts, shown } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

describe('groups', () => {
  test('a sample whose reward fails is replaced by the next index, never by a smaller group', async () => {
    const reward = sampleReward(({ sample }) => (sample === 1 ? Number.NaN : sample), { name: 'picky' })
    const maker = await makeMaker({ sources: [reward], nSamplesPerPrompt: 3, advantageEstimator: 'rloo' })
    const { experiences, dropped, info } = await maker.makeExperienceList(prompts)
    expect(experiences.map(({ sample }) => sample)).toEqual(prompts.flatMap(() => [0, 2, 3]))
    expect(dropped).toHaveLength(4)
    expect(info.drops).toEqual({ 'reward: non-finite': 4 })
    for (let i = 0; i < 4; i++) {
      const sum = experiences.slice(3 * i, 3 * i + 3).reduce((total, { shapedReward }) => total + shapedReward, 0)
      expect(sum).toBeCloseTo(0, 9)
    }
  })

  test('a group that cannot be completed is dropped whole, and said so', async () => {
    const reward = sampleReward(
      ({ promptId, sample }) => {
        if (promptId === '0.2' && sample > 0) throw new Error('no')
        return sample
      },
      { name: 'broken' },
    )
    const maker = await makeMaker({ sources: [reward], nSamplesPerPrompt: 2, advantageEstimator: 'rloo' })
    const { experiences, dropped, info } = await maker.makeExperienceList(prompts)
    expect(new Set(experiences.map(({ sequence }) => sequence.promptId))).toEqual(new Set(['0.0', '0.1', '0.3']))
    expect(info.missingGroups).toBe(1)
    expect(dropped.filter(({ stage }) => stage === 'group')).toMatchObject([
      { promptId: '0.2', sample: 0, reason: 'group-incomplete' },
    ])
  })

  test('dynamic sampling: degenerate groups are replaced, all samples are distinct, nothing dropped comes back', async () => {
    // Prompts 0 and 2 are equal in the first round.
    const reward = sampleReward(
      ({ promptId, sample }) => (sample < 2 && (promptId === '0.0' || promptId === '0.2') ? 1 : sample % 2),
      { name: 'pairs' },
    )
    const maker = await makeMaker({
      sources: [reward],
      nSamplesPerPrompt: 2,
      advantageEstimator: 'group_norm',
      dynamicSampling: true,
    })
    const { experiences, dropped, info } = await maker.makeExperienceList(prompts)
    const names = experiences.map(({ sequence: { promptId }, sample }) => `${promptId}/${sample}`)
    expect(names).toEqual(['0.1/0', '0.1/1', '0.3/0', '0.3/1', '0.0/2', '0.0/3', '0.2/2', '0.2/3'])
    expect(new Set(names).size).toBe(8)
    expect(info).toMatchObject({ rounds: 2, missingGroups: 0, drops: { 'zero-variance': 4 } })
    for (const { promptId, sample } of dropped) expect(names).not.toContain(`${promptId}/${sample}`)
  })

  test('dynamic sampling takes fresh prompts from their source, exactly as many as are missing', async () => {
    const reward = sampleReward(({ row, sample }) => (row.equal ? 1 : sample), { name: 'pairs' })
    let taken = 0
    function* more() {
      for (let i = 0; i < 10; i++) {
        taken++
        yield { prompt: `fresh ${i}`, promptId: `fresh ${i}`, row: { equal: i === 0 } }
      }
    }
    const maker = await makeMaker({
      sources: [reward],
      nSamplesPerPrompt: 2,
      advantageEstimator: 'group_norm',
      dynamicSampling: true,
    })
    const asked = prompts.map((prompt, i) => ({ prompt, row: { equal: i % 2 === 0 } }))
    const { experiences, info } = await maker.makeExperienceList(asked, { morePrompts: more() })
    expect([...new Set(experiences.map(({ sequence }) => sequence.promptId))]).toEqual([
      '0.1',
      '0.3',
      'fresh 1',
      'fresh 2',
    ])
    expect(taken).toBe(3)
    expect(info.rounds).toBe(3)
  })

  test('maxResampleRounds ends it; what is missing is said', async () => {
    const maker = await makeMaker({
      sources: [sampleReward(() => 1, { name: 'always' })],
      nSamplesPerPrompt: 2,
      advantageEstimator: 'group_norm',
      dynamicSampling: true,
      maxResampleRounds: 2,
    })
    const { experiences, info } = await maker.makeExperienceList(prompts)
    expect(experiences).toEqual([])
    expect(info).toMatchObject({ rounds: 3, missingGroups: 4, drops: { 'zero-variance': 24 } })
  })

  test('the order in which responses and rewards arrive changes nothing', async () => {
    const run = async (delays: number[]): Promise<string> => {
      const actor = await makeModel('language')
      let call = 0
      const reward = batchReward(
        async inputs => {
          await new Promise(resolve => setTimeout(resolve, delays[call++ % delays.length]))
          return inputs.map(({ response }) => response.length)
        },
        { name: 'late', batchSize: 2, concurrency: 4 },
      )
      const maker = await makeMaker({
        actor,
        sources: [reward],
        nSamplesPerPrompt: 4,
        advantageEstimator: 'group_norm',
      })
      return shown((await maker.makeExperienceList(prompts)).experiences)
    }
    expect(await run([0, 20, 3])).toBe(await run([15, 0]))
  })
})

test('a reward model gives the same bits whatever order samples arrive in', async () => {
  const run = async (delay: (call: number) => number): Promise<string> => {
    const actor = await makeModel('language')
    let call = 0
    // Texts are read at different speeds, so that samples come to the rewards in another order.
    const slow = new Proxy(tokenizer, {
      get(target, name) {
        if (name === 'byteLevel') return undefined
        const value = Reflect.get(target, name, target)
        if (name !== 'decode') return typeof value === 'function' ? value.bind(target) : value
        return async (...args: Parameters<typeof tokenizer.decode>) => {
          await new Promise(resolve => setTimeout(resolve, delay(call++)))
          return target.decode(...args)
        }
      },
    })
    const rewardModel = { model: await makeModel('reward', { seed: 2 }), tokenizer: slow, batchSize: 5 }
    const maker = await makeMaker({
      actor,
      tokenizer: slow,
      rewardModel,
      nSamplesPerPrompt: 4,
      advantageEstimator: 'rloo',
    })
    return shown((await maker.makeExperienceList(prompts)).experiences)
  }
  const first = await run(() => 0)
  expect(await run(call => (call * 7) % 23)).toBe(first)
  expect(await run(call => 20 - (call % 20))).toBe(first)
})
