/** The forms in which a maker takes its parts, and what it says of those that it cannot take. */
import { describe, expect, test } from 'vitest'
import { FastExperienceMaker, type FastExperienceMakerOptions } from '../../src/experience/index.js'
import type { GenerateOptions, GenerationRequest } from '../../src/rollout/index.js'
import { engineOver, lengthReward, makeMaker, makeModel, prompts } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

const actor = await makeModel('language')
const generator = engineOver(actor)
const rm1 = await makeModel('reward', { seed: 2 })
const rm2 = await makeModel('reward', { seed: 3 })
const rewardsOf = async (options: Partial<FastExperienceMakerOptions>): Promise<number[]> => {
  const maker = await makeMaker({ actor, generator, ...options })
  const { experiences } = await maker.makeExperienceList(prompts)
  return experiences.map(({ reward }) => reward)
}

describe('rewards as other systems give them', () => {
  test('a bare model is the same with the tokenizer of the policy', async () => {
    const bare = await rewardsOf({ rewardModel: rm1 })
    expect(bare).toEqual(await rewardsOf({ rewardModel: { model: rm1, tokenizer } }))
    expect(bare).toEqual(await rewardsOf({ rewardModel: rm1, enableEngineSleep: true }))
    await rm1.reload()
  })

  test('a list of models, and an aggregator that returns a pair of rewards and metrics', async () => {
    const maker = await makeMaker({
      actor,
      generator,
      rewardModel: [rm1, rm2],
      rewardFn: ([first, second]) => [
        first!.map((score, i) => 0.6 * score + 0.4 * second![i]!),
        { first: first!, mean: first!.reduce((a, b) => a + b, 0) / first!.length },
      ],
      rewardFnLabelMap: { quality: 0, safety: 1 },
    })
    const { experiences } = await maker.makeExperienceList(prompts)
    for (const { reward, components, metrics } of experiences) {
      expect(reward).toBeCloseTo(0.6 * components.quality! + 0.4 * components.safety!, 6)
      expect(metrics.first).toBe(components.quality)
      expect(metrics.mean).toEqual(expect.any(Number))
    }
  })

  test('a function of many samples that returns a pair', async () => {
    const customRewardFunc = (queries: readonly string[]) =>
      [queries.map(({ length }) => length), { letters: queries.map(({ length }) => length) }] as const
    const maker = await makeMaker({ actor, generator, customRewardFunc })
    const { experiences } = await maker.makeExperienceList(prompts)
    for (const { reward, metrics } of experiences) expect(metrics.letters).toBe(reward)
  })

  test('null is none', async () => {
    const none = {
      critic: null,
      reference: null,
      initialModel: null,
      rewardModel: null,
      remoteRmUrl: null,
      customRewardFunc: null,
    }
    const given = { ...none, rewardFn: null, rewardFnLabelMap: null }
    expect(await rewardsOf({ ...given, sources: [lengthReward] })).toEqual(await rewardsOf({}))
  })
})

describe('what cannot be taken is said', () => {
  const all = { actor, tokenizer, generator, sources: [lengthReward], advantageEstimator: 'reinforce' }
  const reward = { actor, tokenizer, generator, advantageEstimator: 'reinforce' }
  test.each<[string, unknown, string | RegExp]>([
    ['no options', undefined, /^expected an object of options: actor, tokenizer, generator/],
    [
      'no parts',
      { sources: [lengthReward] },
      /actor: is missing.*\n.*tokenizer: is missing.*\n.*generator: is missing/,
    ],
    ['no actor', { ...all, actor: null }, 'actor: is missing; expected a model, such as await LocalModel.load'],
    ['a path for an actor', { ...all, actor: 'models/base' }, /actor: expected a model, .*, got "models\/base"/],
    ['an engine type', { ...all, generator: 'vllm' }, /generator: expected a generator, .*, got "vllm"/],
    ['a list of critics', { ...all, critic: [rm1] }, /critic: expected a model, .*, got a list/],
    ['both names of the reference', { ...all, reference: actor, initialModel: actor }, /give one of the two/],
    ['a word for a reference', { ...all, initialModel: 'initial' }, /initialModel: .* or 'adapter-off', got "initial"/],
    [
      'a path for a reward model',
      { ...reward, rewardModel: 'models/rm' },
      /rewardModel: expected a reward model, such as/,
    ],
    ['half a reward model', { ...reward, rewardModel: { tokenizer } }, /rewardModel: expected a reward model, such as/],
    ['nothing in a list', { ...reward, rewardModel: [rm1, null] }, /rewardModel 2: expected a reward model, such as/],
    ['a language model', { ...reward, rewardModel: { good: actor } }, /rewardModel\.good: .* its role is language/],
    ['no reward', { ...reward, rewardModel: null }, /no reward: give a source/],
    ['several models alone', { ...reward, rewardModel: [rm1, rm2] }, /need weights, a rewardRecipe, or a rewardFn/],
    [
      'a form',
      { ...all, structured: { kind: 'regex', pattern: '[0-9]+' } },
      /structured: this generator does not support/,
    ],
    ['another form', { ...all, structured: { kind: 'xml' } }, /structured/],
  ])('%s', (_, options, message) => {
    expect(() => new FastExperienceMaker(options as FastExperienceMakerOptions)).toThrow(message)
  })
})

test('gamma and lambda of one call', async () => {
  const critic = await makeModel('value', { seed: 6 })
  const maker = await makeMaker({ actor, generator, critic, advantageEstimator: 'gae' })
  const rows = prompts.map((prompt, i) => ({ prompt, promptId: 'abcd'[i]! }))
  const usual = await maker.makeExperienceList(rows)
  const other = await maker.makeExperienceList(rows, { gamma: 0.5, lambd: 0.1 })
  for (const [i, { advantages, values, reward }] of other.experiences.entries()) {
    const last = advantages.length - 1
    expect(advantages[last]).toBeCloseTo(reward - values![last]!, 6)
    const delta = 0.5 * values![last]! - values![last - 1]!
    expect(advantages[last - 1]).toBeCloseTo(delta + 0.05 * advantages[last]!, 6)
    expect(advantages).not.toEqual(usual.experiences[i]!.advantages)
  }
  expect(maker.config).toMatchObject({ gamma: 1, lambd: 0.95 })
})

test('without packing no padding is avoided', async () => {
  const maker = await makeMaker({ actor, generator, packingSamples: false })
  expect((await maker.makeExperienceList(prompts)).info.paddingAvoided).toBe(0)
})

test('a form that responses are held to reaches an engine that can, and no other', async () => {
  const structured = { kind: 'regex', pattern: '[0-9]+' } as const
  const asked: GenerationRequest[] = []
  const able = new Proxy(generator, {
    get(target, name) {
      if (name === 'capabilities') return { ...target.capabilities, structured: ['regex'] }
      if (name === 'generate')
        return (requests: readonly GenerationRequest[], options: GenerateOptions) => {
          asked.push(...requests)
          const free = requests.map(({ sampling: { structured: _, ...sampling }, ...rest }) => ({ ...rest, sampling }))
          return target.generate(free, options)
        }
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await (await makeMaker({ actor, generator: able, structured })).generateSamples(prompts)
  expect(asked.map(({ sampling }) => sampling.structured)).toEqual(prompts.map(() => structured))
  await expect((await makeMaker({ actor, generator })).generateSamples(prompts, { structured })).rejects.toThrow(
    /structured: this engine does not support regex/,
  )
})
