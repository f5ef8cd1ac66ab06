import { expect, test } from 'vitest'
import type { Scorer } from '../../src/experience/index.js'
import { ModelTurns, type Resident } from '../../src/experience/model-turns.js'
import type { LocalModel, Role } from '../../src/model/index.js'
import type { RewardModel } from '../../src/reward/index.js'
import type { LocalEngine } from '../../src/rollout/index.js'
import { engineOver, makeMaker, makeModel, prompts } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

/** A card: who is on it, how many at most were, and what happened. */
class Card {
  readonly present = new Set<string>()
  most = 0
  readonly log: string[] = []

  put(name: string): void {
    if (!this.present.has(name)) this.log.push(`+${name}`)
    this.present.add(name)
    this.most = Math.max(this.most, this.present.size)
  }

  take(name: string): void {
    if (this.present.delete(name)) this.log.push(`-${name}`)
  }

  need(name: string): void {
    if (!this.present.has(name)) throw new Error(`${name} is not on the card`)
  }
}

/** A model that can be used only while it is on the card. */
function onCard<R extends Role>(card: Card, name: string, model: LocalModel<R>): Scorer<R> {
  card.put(name)
  return {
    capabilities: { ...model.capabilities, offload: true },
    maxLength: model.maxLength,
    offload: async () => card.take(name),
    reload: async () => card.put(name),
    score: async (sequences, options) => {
      card.need(name)
      return model.score(sequences, options)
    },
  }
}

/** An engine whose keys and values are on the card while it is awake, with the weights it samples from. */
function engineOnCard(card: Card, engine: LocalEngine): LocalEngine {
  card.put('cache')
  return new Proxy(engine, {
    get(target, name) {
      if (name === 'sleep') return async () => card.take('cache')
      if (name === 'wake') return async () => card.put('cache')
      if (name === 'generate')
        return (...args: Parameters<LocalEngine['generate']>) => {
          card.need('cache')
          card.need('actor')
          return target.generate(...args)
        }
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('actor, critic, reference and reward model take turns on a card that holds two of them', async () => {
  const card = new Card()
  const actor = await makeModel('language')
  const rewardModel: RewardModel = { model: onCard(card, 'reward', await makeModel('reward', { seed: 2 })), tokenizer }
  const parts = {
    actor: onCard(card, 'actor', actor),
    critic: onCard(card, 'critic', await makeModel('value', { seed: 3 })),
    reference: onCard(card, 'reference', await makeModel('language', { seed: 4 })),
    rewardModel,
    generator: engineOnCard(card, engineOver(actor)),
  }
  const maker = await makeMaker({ ...parts, enableEngineSleep: true, advantageEstimator: 'gae', nSamplesPerPrompt: 2 })
  // As they were loaded, all of them may be there.
  card.most = 0
  card.log.length = 0
  const { experiences } = await maker.makeExperienceList(prompts)
  expect(experiences).toHaveLength(8)
  expect(card.log.filter(entry => entry === '+reward' || entry === '+reference' || entry === '+critic')).toEqual([
    '+reward',
    '+reference',
    '+critic',
  ])
  // For a training step the actor is there, alone.
  expect([...card.present]).toEqual(['actor'])

  card.most = 0
  card.log.length = 0
  await maker.makeExperienceList(prompts)
  expect(card.most).toBe(2)
  const brought = card.log.filter(entry => entry.startsWith('+'))
  expect(brought).toEqual(['+cache', '+reward', '+reference', '+critic', '+actor'])
  expect([...card.present]).toEqual(['actor'])
})

test('a model that finds no room on the card is an error of the work that needed it, and the next one has its turn', async () => {
  const resident = (reload: () => Promise<void>): Resident => ({
    capabilities: { offload: true } as Resident['capabilities'],
    offload: async () => {},
    reload,
  })
  let room = 0
  const actor = resident(async () => {})
  const critic = resident(async () => {
    if (room === 0) throw new Error('out of memory')
  })
  const generator = { capabilities: { sleep: false, weights: [] }, sleep: async () => {}, wake: async () => {} }
  const turns = new ModelTurns({ generator: generator as unknown as LocalEngine, actor, models: [critic] })
  await expect(turns.use(critic, async () => 'values')).rejects.toThrow('out of memory')
  expect(await turns.use(actor, async () => 'logprobs')).toBe('logprobs')
  room = 1
  expect(await turns.use(critic, async () => 'values')).toBe('values')
})

test('turns change no number', async () => {
  const run = async (enableEngineSleep: boolean): Promise<unknown> => {
    const actor = await makeModel('language')
    const rewardModel: RewardModel = { model: await makeModel('reward', { seed: 2 }), tokenizer }
    const maker = await makeMaker({
      actor,
      rewardModel,
      reference: await makeModel('language', { seed: 4 }),
      enableEngineSleep,
    })
    const { experiences } = await maker.makeExperienceList(prompts)
    return experiences.map(({ advantages, logprobs, refLogprobs, reward }) => ({
      advantages,
      logprobs,
      refLogprobs,
      reward,
    }))
  }
  expect(await run(true)).toEqual(await run(false))
})

test('an engine that a maker left asleep is woken by the next maker, and refuses anyone who does not wake it', async () => {
  const actor = await makeModel('language')
  const generator = engineOver(actor)
  const make = (enableEngineSleep: boolean) => makeMaker({ actor, generator, enableEngineSleep })
  const { experiences } = await (await make(true)).makeExperienceList(prompts)
  const sampling = { seed: 1, maxNewTokens: 2 }
  const alone = generator.generate([{ id: 'a', promptIds: Int32Array.of(1, 2), sampling }])
  await expect(alone.next()).rejects.toThrow('the engine is asleep and generates nothing; wake() it first')
  const again = await (await make(false)).makeExperienceList(prompts)
  expect(again.experiences.map(({ sequence }) => sequence.ids)).toEqual(experiences.map(({ sequence }) => sequence.ids))
})
