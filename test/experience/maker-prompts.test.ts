/** What the maker takes as prompts, and what it refuses before anything runs. */
import { describe, expect, test } from 'vitest'
import {
  ExperienceConfigError,
  FastExperienceMaker,
  type FastExperienceMakerOptions,
  type MakeOptions,
} from '../../src/experience/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { promptIds, responseIds } from '../../src/sequence/index.js'
import { asked, engineOver, lengthReward, makeMaker, makeModel, prompts } from '../support/experience.js'
import { llamaStyle, tokenizer } from '../support/tokenizers.js'

describe('prompts', () => {
  test('texts, conversations and ids; special tokens are never added twice', async () => {
    const maker = await makeMaker()
    const messages = [{ role: 'user', content: 'Hello' }]
    const ids = Int32Array.of(5, 6, 7)
    const { experiences } = await maker.makeExperienceList(['Hello', messages, ids])
    expect(promptIds(experiences[0]!.sequence)).toEqual(await asked('Hello'))
    expect(promptIds(experiences[1]!.sequence)).toEqual(promptIds(experiences[0]!.sequence))
    expect(promptIds(experiences[2]!.sequence)).toEqual(ids)
  })

  test('a template that writes a bos gets one bos, as a text whose tokenizer adds one does', async () => {
    const llama = await llamaStyle()
    const actor = await makeModel('language')
    const maker = await makeMaker({ actor, tokenizer: llama, chatTemplate: 'none' })
    const messages = [{ role: 'user', content: 'Hello' }]
    const rendered = llama.renderChat(messages, { addGenerationPrompt: true })
    const { experiences } = await maker.makeExperienceList(['Hello', messages, rendered])
    for (const { sequence } of experiences) {
      const asked = promptIds(sequence)
      expect(asked[0]).toBe(llama.bosId)
      expect(asked.filter(id => id === llama.bosId)).toHaveLength(1)
    }
    expect(promptIds(experiences[2]!.sequence)).toEqual(promptIds(experiences[1]!.sequence))
  })

  test.each([
    ['left', [3, 4, 5]],
    ['right', [1, 2, 3]],
  ] as const)('promptMaxLen cuts on the %s', async (promptTruncation, expected) => {
    const maker = await makeMaker({ promptMaxLen: 3, promptTruncation })
    const { experiences } = await maker.makeExperienceList([Int32Array.of(1, 2, 3, 4, 5)])
    expect([...promptIds(experiences[0]!.sequence)]).toEqual(expected)
  })

  test('promptMaxLen rejects that prompt alone, as an outcome', async () => {
    const maker = await makeMaker({ promptMaxLen: 3, promptTruncation: 'reject' })
    const { experiences, dropped, info } = await maker.makeExperienceList([Int32Array.of(1, 2, 3, 4), Int32Array.of(1)])
    expect(experiences.map(({ sequence }) => sequence.promptId)).toEqual(['0.1'])
    expect(dropped).toMatchObject([{ promptId: '0.0', stage: 'generation', reason: 'prompt-too-long' }])
    expect(info.drops).toEqual({ 'generation: prompt-too-long': 1 })
    expect(info.missingGroups).toBe(1)
  })

  test('a prompt that comes again in a later call is sampled anew; ids of its own make it the same', async () => {
    const maker = await makeMaker()
    const call = async (promptId?: string) => {
      const { experiences } = await maker.makeExperienceList([{ prompt: prompts[3]!, promptId }])
      return responseIds(experiences[0]!.sequence)
    }
    expect(await call()).not.toEqual(await call())
    expect(await call('row 7')).toEqual(await call('row 7'))
  })

  test('lists beside the prompts, twice the same id and media are refused', async () => {
    const maker = await makeMaker()
    await expect(maker.makeExperienceList(prompts, { labels: ['a'] } as MakeOptions)).rejects.toThrow(
      'there is no option "labels"',
    )
    const row = { prompt: 'a', promptId: 'x' }
    await expect(maker.makeExperienceList([row, row])).rejects.toThrow('two prompts have the id "x"')
    const images = [{ mimeType: 'image/png', bytes: new Uint8Array(1) }]
    await expect(maker.makeExperienceList([{ ...row, images }])).rejects.toThrow('vision-language model')
  })
})

describe('the config is checked before anything runs', () => {
  const compared = { advantageEstimator: 'rloo', nSamplesPerPrompt: 2 } as const
  test.each([
    [{ advantageEstimator: 'gae' }, /gae needs a critic/],
    [{ advantageEstimator: 'rloo', nSamplesPerPrompt: 1 }, /needs at least 2/],
    [{ reward_clip: 3 }, /no option "reward_clip"; did you mean rewardClip\?/],
    [{ rewardClp: 3 }, /did you mean rewardClip/],
    [{ init_kl_coef: 0.1 }, /klController/],
    [{ initial_model: {} }, /there is no option "initial_model"; use initialModel/],
    [{ remote_rm_url: 'http://rm' }, /use remoteRmUrl/],
    [{ strategy: {} }, /use the options of the maker, with a generator instead of an engine/],
    [{ max_tokens: 5 }, /use maxNewTokens/],
    [{ temperature: 'hot' }, /temperature: expected number/],
    [{ temperature: -1 }, /temperature/],
    [{ ...compared, temperature: 0 }, /temperature: with 0 all samples of a prompt are equal, and rloo compares them/],
    [{ ...compared, topK: 1, useFire: true }, /topK: with 1 all samples of a prompt are equal/],
    [{ dynamicSampling: true }, /dynamicSampling: .* set nSamplesPerPrompt to 2 or more/],
    [{ dynamicSampling: true, nSamplesPerPrompt: 2, temperature: 0 }, /temperature: .* dynamicSampling compares them/],
    [{ minNewTokens: 20 }, /minNewTokens: 20 is more than maxNewTokens \(12\)/],
    [
      { sources: [lengthReward, sampleReward(() => 1, { name: 'other' })] },
      /need weights, a rewardRecipe, or a rewardFn/,
    ],
    [{ sources: [lengthReward, sampleReward(() => 1, { name: 'length' })] }, /two reward sources are called "length"/],
    [{ rewardRecipe: { a: [['function', 'lenth', 1]] } }, /did you mean length/],
    [{ initialModel: 'adapter-off' }, /reference: adapter-off needs an actor with an adapter/],
    [{ klController: { kind: 'fixed', coef: 0.1 } }, /needs a reference/],
    [{ promptMaxLen: 128 }, /leaves no room for a response/],
    [{ processor: {} }, /processor: expected a processor/],
    [{ overlongBuffer: true, overlongBufferLen: 13 }, /overlongBufferLen/],
  ] as [object, RegExp][])('%j', async (options, message) => {
    await expect(
      makeMaker({ sources: [lengthReward], ...options } as Partial<FastExperienceMakerOptions>),
    ).rejects.toThrow(message)
  })

  test('samples that are all the same: for an evaluation, with FIRE, or where none are compared', async () => {
    const maker = await makeMaker(compared)
    await expect(maker.makeExperienceList(prompts, { temperature: 0 })).rejects.toThrow('temperature: with 0')
    const { groups } = await maker.generateSamples(prompts, { temperature: 0, purpose: 'evaluation' })
    expect(groups.length).toBe(prompts.length)
    await makeMaker({ ...compared, temperature: 0, useFire: true })
    await makeMaker({ temperature: 0, advantageEstimator: 'reinforce' })
  })

  test('several problems at once, each in a line', async () => {
    const actor = await makeModel('language')
    const make = () =>
      new FastExperienceMaker({
        actor,
        tokenizer,
        generator: engineOver(actor),
        sources: [lengthReward],
        overlong_buffer: true,
        topp: 1,
      } as unknown as FastExperienceMakerOptions)
    expect(make).toThrow(ExperienceConfigError)
    expect(make).toThrow(/overlongBuffer\?\n.*topP\?/s)
  })

  test('a label without a recipe is an error before anything is generated', async () => {
    const maker = await makeMaker({ rewardRecipe: { a: [['function', 'length', 1]] }, sources: [lengthReward] })
    await expect(maker.makeExperienceList([{ prompt: 'x', label: 'b' }])).rejects.toThrow(
      'no reward recipe for the label "b"',
    )
  })
})
