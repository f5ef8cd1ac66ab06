/** The maker from prompts to experiences: every field, the same whatever the batches, states and failures. */
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Experience, FastExperienceMakerOptions, MakeOptions } from '../../src/experience/index.js'
import { deriveAdvantages } from '../../src/maths/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { promptIds, promptLength, responseIds, trainedCount } from '../../src/sequence/index.js'
import { asked, engineOver, makeMaker, makeModel, prompts, shown } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

const numbers = (text: string): number[] => {
  const found: number[] = []
  JSON.parse(text, (_, value) => (typeof value === 'number' ? found.push(value) : value))
  return found
}
const near = (expected: readonly number[]) => (found: readonly number[]) =>
  found.length === expected.length && found.every((value, i) => Math.abs(value - expected[i]!) < 1e-4)
const close = (a: ArrayLike<number>, b: ArrayLike<number>, tolerance = 1e-4): boolean =>
  a.length === b.length && Array.from(a).every((value, i) => Math.abs(value - b[i]!) < tolerance)

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
      samples: experiences.map(one => ({
        ...one,
        promptId: one.sequence.promptId,
        length: trainedCount(one.sequence),
      })),
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
