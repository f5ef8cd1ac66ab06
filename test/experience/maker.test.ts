import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  type Experience,
  ExperienceConfigError,
  FastExperienceMaker,
  type FastExperienceMakerOptions,
  type MakeOptions,
} from '../../src/experience/index.js'
import { deriveAdvantages } from '../../src/maths/index.js'
import { batchReward, sampleReward } from '../../src/reward/index.js'
import { promptIds, promptLength, responseIds, trainedCount } from '../../src/sequence/index.js'
import { engineOver, lengthReward, makeMaker, makeModel, prompts } from '../support/experience.js'
import { llamaStyle, tokenizer } from '../support/tokenizers.js'

/** Everything but times, as text: equal for equal bits. */
const shown = (experiences: readonly Experience[]): string =>
  JSON.stringify(experiences, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value))

/** A text as a user's turn. */
const asked = (content: string): Promise<Int32Array> =>
  tokenizer.encodeChat([{ role: 'user', content }], { addGenerationPrompt: true })

describe('end to end', () => {
  test('every field of an experience, and what the batch says of itself', async () => {
    const [actor, reference, critic] = [
      await makeModel('language'),
      await makeModel('language', { seed: 8 }),
      await makeModel('value', { seed: 9 }),
    ]
    const maker = await makeMaker({
      actor,
      critic,
      reference,
      advantageEstimator: 'gae',
      nSamplesPerPrompt: 2,
    })
    const rows = prompts.map((_, i) => ({ number: i }))
    const targets = ['r0', 'r1', ['r2', 'or this'], undefined]
    const given = prompts.map((prompt, i) => ({ prompt, row: rows[i]!, label: 'abab'[i]!, target: targets[i] }))
    const { experiences, info, dropped } = await maker.makeExperienceList(given, { temperature: 0.7 })
    expect(dropped).toEqual([])
    expect(experiences.map(({ sequence: { promptId }, sample }) => `${promptId}/${sample}`)).toEqual(
      ['0.0', '0.1', '0.2', '0.3'].flatMap(promptId => [`${promptId}/0`, `${promptId}/1`]),
    )
    for (const [i, one] of experiences.entries()) {
      const prompt = Math.floor(i / 2)
      expect(promptIds(one.sequence)).toEqual(await asked(prompts[prompt]!))
      expect(one.response).toBe(await tokenizer.decode(responseIds(one.sequence)))
      expect(one.sequence.row).toEqual({ number: prompt })
      expect(one.label).toBe('abab'[prompt])
      expect(one.target).toEqual(targets[prompt])
      const count = responseIds(one.sequence).length
      for (const list of [
        one.logprobs,
        one.entropies,
        one.refLogprobs,
        one.values,
        one.kl,
        one.advantages,
        one.returns,
      ])
        expect(list).toHaveLength(count)
      expect(one.engineLogprobs.raw).toHaveLength(count)
      expect(one.policyVersion).toBe(0)
      expect(one.reward).toBe((await tokenizer.decode(responseIds(one.sequence), { skipSpecialTokens: true })).length)
      expect(one.components).toEqual({ length: one.reward })
      expect(one.temperature).toBe(0.7)
      const { ids: whole } = one.sequence
      const options = { from: promptLength(one.sequence), temperature: 0.7, entropy: true }
      const [acted] = await actor.score([whole], options)
      const [referred] = await reference.score([whole], options)
      const [valued] = await critic.score([whole], { from: promptLength(one.sequence) })
      expect(close(one.logprobs!, acted!.logprobs)).toBe(true)
      expect(close(one.entropies!, acted!.entropies!)).toBe(true)
      expect(close(one.refLogprobs!, referred!.logprobs)).toBe(true)
      expect(close(one.values!, valued!.values)).toBe(true)
      // What the engine sampled from is what the actor says, where nothing was filtered or forbidden.
      expect(close(one.engineLogprobs.processed!.slice(1), one.logprobs!.slice(1), 1e-3)).toBe(true)
      expect(one.lossMask.every(kept => kept === 1)).toBe(true)
    }
    const derived = deriveAdvantages({
      samples: experiences.map(one => ({ ...one, group: one.sequence.promptId, length: trainedCount(one.sequence) })),
      options: { advantageEstimator: 'gae', klCoef: 0.01 },
    })
    for (const [i, one] of experiences.entries()) expect(one.advantages).toEqual(derived.samples[i]!.advantages)
    expect(info).toMatchObject({ prompts: 4, samples: 8, rounds: 1, missingGroups: 0, drops: {}, klCoef: 0.01 })
    expect(info.components.length).toBeCloseTo(info.reward!.mean, 9)
    expect(info.kl).toBeGreaterThan(-10)
    expect(info.totalLength!.max).toBe(Math.max(...experiences.map(one => one.sequence.ids.length)))
    const { total, ...stages } = info.seconds
    expect(Object.values(stages).reduce((sum, seconds) => sum + seconds, 0)).toBeLessThanOrEqual(total * 1.01)
    expect(stages.generation).toBeGreaterThan(0)
    expect(info.paddingAvoided).toBeGreaterThan(0)
  })

  const run = async (options: Partial<FastExperienceMakerOptions> = {}, call: MakeOptions = {}): Promise<string> => {
    const actor = await makeModel('language')
    const reference = await makeModel('language', { seed: 8 })
    const maker = await makeMaker({
      actor,
      reference,
      nSamplesPerPrompt: 3,
      advantageEstimator: 'group_norm',
      seed: 4,
      ...options,
    })
    return shown((await maker.makeExperienceList(prompts, call)).experiences)
  }

  test('reproducible by seed', async () => {
    const first = await run()
    expect(await run()).toBe(first)
    expect(await run({ seed: 5 })).not.toBe(first)
  })

  test.each([1, 3, 5, 64])('the same for microRolloutBatchSize %i', async microRolloutBatchSize => {
    expect(numbers(await run({ microRolloutBatchSize }))).toSatisfy(near(numbers(await run())))
  })

  test('the same packed and padded', async () => {
    expect(numbers(await run({ packingSamples: false }))).toSatisfy(near(numbers(await run({ packingSamples: true }))))
  })

  test('a LoRA actor without its adapter is its own reference', async () => {
    const actor = await makeModel('language', { adapter: true })
    const maker = await makeMaker({ actor, reference: 'adapter-off' })
    const { info } = await maker.makeExperienceList(prompts)
    // A new adapter changes nothing yet.
    expect(info.kl).toBeCloseTo(0, 5)
  })

  test('FIRE: the first token has its own temperature, all the way through', async () => {
    const actor = await makeModel('language')
    const make = async (useFire: boolean) => {
      const maker = await makeMaker({
        actor,
        generator: engineOver(actor),
        useFire,
        temperature: 0.05,
        firstTokenTemperature: 1e6,
        nSamplesPerPrompt: 16,
      })
      return (await maker.makeExperienceList([prompts[0]!])).experiences
    }
    const spread = (list: readonly Experience[]): number => new Set(list.map(one => responseIds(one.sequence)[0])).size
    const [fire, plain] = [await make(true), await make(false)]
    expect(spread(fire)).toBeGreaterThan(spread(plain))
    // Nearly uniform, whatever the actor thinks of the token.
    for (const one of fire) expect(one.engineLogprobs.processed![0]).toBeCloseTo(-Math.log(tokenizer.vocabSize), 1)
  })

  test('the first reward is asked for before the last response is there', async () => {
    const events: string[] = []
    const actor = await makeModel('language')
    // Four at a time: the others are generated when these have been.
    const engine = engineOver(actor, { maxSequences: 4 })
    const generator = new Proxy(engine, {
      get(target, name) {
        const value = Reflect.get(target, name, target)
        if (name !== 'generate') return typeof value === 'function' ? value.bind(target) : value
        return async function* (...args: Parameters<typeof engine.generate>) {
          for await (const outcome of target.generate(...args)) {
            yield outcome
            events.push('response')
          }
        }
      },
    })
    const reward = sampleReward(
      async () => {
        events.push('reward')
        return 1
      },
      { name: 'slow' },
    )
    const maker = await makeMaker({ actor, generator, sources: [reward], nSamplesPerPrompt: 8, maxNewTokens: 24 })
    const { info } = await maker.makeExperienceList(prompts)
    expect(events.indexOf('reward')).toBeLessThan(events.lastIndexOf('response'))
    expect(info.rewardOverlap).toBeGreaterThan(0)
  })

  test('high-entropy tokens: the mask keeps the share that is asked for', async () => {
    const maker = await makeMaker({ highEntropyTokenRatio: 0.25 })
    const { experiences } = await maker.makeExperienceList(prompts)
    for (const { lossMask, entropies } of experiences) {
      const kept = lossMask.reduce((sum, one) => sum + one, 0)
      expect(kept).toBe(Math.max(1, Math.floor(lossMask.length * 0.25)))
      const least = Math.min(...entropies!.filter((_, i) => lossMask[i] === 1))
      for (const [i, value] of entropies!.entries()) if (lossMask[i] === 0) expect(value).toBeLessThanOrEqual(least)
    }
  })
})

test('what was sampled is what is trained: ids, lengths and ends are the engine’s', async () => {
  const actor = await makeModel('language')
  const engine = engineOver(actor)
  const maker = await makeMaker({ actor, generator: engine, maxNewTokens: 40, nSamplesPerPrompt: 4 })
  const { experiences } = await maker.makeExperienceList(prompts)
  const requests = prompts.map(async (prompt, i) => ({
    id: `${i}`,
    promptId: `0.${i}`,
    promptIds: await asked(prompt),
    n: 4,
    sampling: { seed: 0, maxNewTokens: 40, minNewTokens: 1 },
  }))
  for await (const outcome of engine.generate(await Promise.all(requests))) {
    if (outcome.kind !== 'completed') throw new Error(outcome.message)
    const same = experiences.find(one => one.sequence.promptId === outcome.promptId && one.sample === outcome.sample)!
    expect(responseIds(same.sequence)).toEqual(outcome.responseIds)
    expect(same.finishReason).toBe(outcome.finishReason)
    const ended = tokenizer.stopIds.includes(responseIds(same.sequence).at(-1)!)
    expect(ended).toBe(same.finishReason === 'stop')
  }
})

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

describe('state', () => {
  test('running moments and the KL coefficient go on from where they were; an evaluation leaves them alone', async () => {
    const options = {
      rewardRunningNorm: true,
      klController: { kind: 'adaptive' as const, coef: 0.1, target: 0.001, horizon: 100 },
      reference: await makeModel('language', { seed: 8 }),
    }
    const actor = await makeModel('language')
    const [whole, first] = [await makeMaker({ ...options, actor }), await makeMaker({ ...options, actor })]
    await whole.makeExperienceList(prompts)
    await first.makeExperienceList(prompts)
    const saved = first.state
    await first.makeExperienceList(prompts, { purpose: 'evaluation' })
    expect({ ...first.state, calls: 0 }).toEqual({ ...saved, calls: 0 })
    expect(saved.klController.coef).not.toBe(0.1)
    const resumed = await makeMaker({ ...options, actor })
    resumed.restore(JSON.parse(JSON.stringify(saved)) as typeof saved)
    const [expected, found] = [await whole.makeExperienceList(prompts), await resumed.makeExperienceList(prompts)]
    expect(shown(found.experiences)).toBe(shown(expected.experiences))
    expect(resumed.state).toEqual(whole.state)
  })
})

describe('cancelling and failing', () => {
  test('an aborted call ends soon, and the maker can be used again', async () => {
    const actor = await makeModel('language')
    const generator = engineOver(actor)
    const maker = await makeMaker({ actor, generator, maxNewTokens: 80 })
    const stop = new AbortController()
    const refused = expect(maker.makeExperienceList(prompts, { signal: stop.signal })).rejects.toThrow('enough')
    while (generator.counts.running === 0) await setImmediate()
    stop.abort(new Error('enough'))
    await refused
    expect(generator.counts.generatedTokens).toBeLessThan(prompts.length * 80)
    expect((await maker.makeExperienceList(prompts, { maxNewTokens: 4 })).experiences).toHaveLength(4)
  })

  test('onRewardFailure stop ends the call with the reward and the sample named', async () => {
    const maker = await makeMaker({
      sources: [sampleReward(() => Number.NaN, { name: 'broken' })],
      onRewardFailure: 'stop',
    })
    await expect(maker.makeExperienceList(prompts)).rejects.toThrow(/broken/)
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
    [{ processor: {} }, /there is no option "processor"/],
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

const numbers = (text: string): number[] => {
  const found: number[] = []
  JSON.parse(text, (_, value) => (typeof value === 'number' ? found.push(value) : value))
  return found
}
const near = (expected: readonly number[]) => (found: readonly number[]) =>
  found.length === expected.length && found.every((value, i) => Math.abs(value - expected[i]!) < 1e-4)
const close = (a: ArrayLike<number>, b: ArrayLike<number>, tolerance = 1e-4): boolean =>
  a.length === b.length && Array.from(a).every((value, i) => Math.abs(value - b[i]!) < tolerance)

test('rollouts that run at once, as an evaluation beside the next one, ask under names of their own', async () => {
  const actor = await makeModel('language')
  const engine = engineOver(actor)
  const asked: string[] = []
  const generate: typeof engine.generate = (requests, options) => {
    asked.push(...[...(requests as Iterable<{ id: string }>)].map(({ id }) => id))
    return engine.generate(requests, options)
  }
  const generator = new Proxy(engine, {
    get: (target, name) => (name === 'generate' ? generate : Reflect.get(target, name, target)),
  })
  const maker = await makeMaker({ actor, generator, nSamplesPerPrompt: 2 })
  await Promise.all([
    maker.generateSamples(prompts),
    maker.generateSamples(
      prompts.map((prompt, i) => ({ prompt, promptId: `held out/${i}` })),
      { purpose: 'evaluation' },
    ),
  ])
  expect(asked).toHaveLength(2 * prompts.length)
  expect(new Set(asked).size).toBe(asked.length)
})
