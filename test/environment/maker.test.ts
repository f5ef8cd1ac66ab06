/** Episodes in the maker: a single turn is the sample of today, and the journal makes the same batch without running anything. */
import { describe, expect, test } from 'vitest'
import {
  type Environment,
  type EpisodeJournalRecord,
  type Session,
  toolEnvironment,
} from '../../src/environment/index.js'
import type { Experience, Inference, RolloutJournal } from '../../src/experience/index.js'
import type { RewardOutcome } from '../../src/reward/index.js'
import type { Generator, Outcome } from '../../src/rollout/index.js'
import { origins } from '../../src/sequence/index.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { makeMaker, makeModel, prompts, shown } from '../support/experience.js'
import { tokenizer } from '../support/tokenizers.js'

const oneTurn: Environment = {
  name: 'one turn',
  version: '1',
  open: async ({ messages }) => ({
    start: async () => messages,
    step: async () => ({ kind: 'done' }),
  }),
}

/** Asks again until the third turn. */
const threeTurns: Environment = {
  name: 'three turns',
  version: '1',
  open: async ({ messages }) => ({
    start: async () => messages,
    step: async ({ turn }) =>
      turn === 2
        ? { kind: 'done', reward: 0.5 }
        : { kind: 'go-on', messages: [{ role: 'user', content: 'And then?' }], reward: 0.25 },
  }),
}

describe('a single turn', () => {
  test.each([0, 1])('is bit for bit the sample without an environment, at temperature %s', async temperature => {
    const actor = await makeModel('language')
    const settings = { actor, nSamplesPerPrompt: 2, temperature }
    const plain = await (await makeMaker(settings)).makeExperienceList(prompts)
    const episodes = await (await makeMaker({ ...settings, environment: oneTurn })).makeExperienceList(prompts)
    const withoutTurns = episodes.experiences.map(({ turns, ...one }) => {
      expect(turns).toHaveLength(1)
      return one
    })
    expect(shown(withoutTurns)).toBe(shown(plain.experiences))
  })
})

class Memory implements RolloutJournal {
  readonly rewards = new Map<string, RewardOutcome>()
  readonly inferences = new Map<string, Inference>()
  readonly episodes: EpisodeJournalRecord[] = []
  outcome = (): undefined => undefined
  reward = (key: { promptId: string; sample: number }) => this.rewards.get(`${key.promptId}/${key.sample}`)
  inference = (key: { promptId: string; sample: number }) => this.inferences.get(`${key.promptId}/${key.sample}`)
  keepPrompt = async (): Promise<void> => {}
  keepOutcome = async (): Promise<void> => {}
  keepRewards: RolloutJournal['keepRewards'] = async rewards => {
    for (const { promptId, sample, outcome } of rewards) this.rewards.set(`${promptId}/${sample}`, outcome)
  }
  keepInferences: RolloutJournal['keepInferences'] = async inferences => {
    for (const { promptId, sample, inference } of inferences) this.inferences.set(`${promptId}/${sample}`, inference)
  }
  episodeRecords: RolloutJournal['episodeRecords'] = ({ promptId, sample }) =>
    this.episodes.filter(one => one.promptId === promptId && one.sample === sample)
  keepEpisode: RolloutJournal['keepEpisode'] = async record => {
    this.episodes.push(structuredClone(record))
  }
}

test('several turns: masks have holes, numbers are those of sampled tokens, and a replay opens no session', async () => {
  const actor = await makeModel('language', { context: 256 })
  const critic = await makeModel('value', { context: 256 })
  const settings = { actor, critic, advantageEstimator: 'gae', nSamplesPerPrompt: 2, maxNewTokens: 30 } as const
  const options = { ...settings, episode: { turnTokens: 8 } }
  const journal = new Memory()
  const maker = await makeMaker({ ...options, sources: [], environment: threeTurns })
  const { experiences } = await maker.makeExperienceList(['Hello', 'A'], { journal })
  expect(experiences).toHaveLength(4)
  for (const one of experiences) {
    const { turns = [], sequence } = one
    const counts = turns.map(({ completion }) => completion.responseIds.length)
    const sampled = counts.reduce((sum, count) => sum + count, 0)
    expect(one.components).toEqual({ environment: one.reward })
    expect(one.reward).toBe(turns.length === 3 && one.finishReason === 'stop' ? 1 : 0.25 * (turns.length - 1))
    for (const list of [one.logprobs, one.values, one.advantages, one.returns, one.engineLogprobs.raw])
      expect(list).toHaveLength(sampled)
    const runs = [...sequence.origin].filter((origin, i, all) => origin !== all[i - 1])
    expect(runs).toEqual(turns.flatMap((_, i) => [i === 0 ? origins.prompt : origins.observation, origins.sampled]))
    // What the engine said of its tokens is what the actor says of the whole sequence, holes and all.
    for (const [i, value] of one.engineLogprobs.raw!.entries()) expect(value).toBeCloseTo(one.logprobs![i]!, 3)
  }
  const refused: Environment = { ...threeTurns, open: () => Promise.reject(new Error('a session in a replay')) }
  const again = await makeMaker({ ...options, sources: [], environment: refused })
  const replayed = await again.makeExperienceList(['Hello', 'A'], { journal })
  expect(shown(replayed.experiences)).toBe(shown(experiences))
})

/** Says these ids, turn after turn, with these log-probabilities. */
function saying(turns: readonly (readonly [id: number, logprob: number][])[]): Generator {
  let said = 0
  const scripted = new ScriptedGenerator(() => turns[said++]!.map(([id]) => id), tokenizer.vocabSize)
  const { generate } = scripted
  return Object.assign(scripted, {
    async *generate(...given: Parameters<Generator['generate']>): AsyncGenerator<Outcome> {
      for await (const outcome of generate.apply(scripted, given)) {
        const raw = Float32Array.from(turns[said - 1]!, ([, logprob]) => logprob)
        yield outcome.kind === 'completed' ? { ...outcome, logprobs: { raw } } : outcome
      }
    },
  })
}

test('a scripted episode: its masks, log-probabilities, rewards and advantages are those of a table', async () => {
  const environment: Environment = {
    name: 'two turns',
    version: '1',
    open: async ({ messages }) => ({
      start: async () => messages,
      step: async ({ turn }) =>
        turn === 1
          ? { kind: 'done', reward: 2 }
          : { kind: 'go-on', messages: [{ role: 'user', content: 'More' }], reward: 1 },
      score: async () => 1,
    }),
  }
  const end = tokenizer.idOf('<|im_end|>')!
  const [x] = await tokenizer.encode('x', { addSpecialTokens: false })
  const generator = saying([
    [
      [x!, -0.5],
      [end, -0.25],
    ],
    [[end, -2]],
  ])
  const maker = await makeMaker({ generator, environment, sources: [], gamma: 0.5, turnGamma: 0.5 })
  const { experiences } = await maker.makeExperienceList(['Hi'])
  const [{ sequence, engineLogprobs, advantages, returns, reward }] = experiences as [Experience]
  expect(reward).toBe(4)
  // One row for each sampled token, and one for what was read between them.
  const { ids, origin, trained } = sequence
  const rows: unknown[][] = []
  let read = ''
  for (const [i, id] of ids.entries()) {
    const text = await tokenizer.decode(Int32Array.of(id))
    if (trained[i]) {
      const sampled = rows.filter(row => row.length > 2).length
      if (read !== '') rows.push(['read', read])
      rows.push([text, ...[engineLogprobs.raw!, advantages, returns].map(values => values[sampled])])
      read = ''
    } else read += text
    expect(trained[i]).toBe(Number(origin[i] === origins.sampled))
  }
  const system = '<|im_start|>system\nYou are a helpful assistant.<|im_end|>'
  // The return of token 1 is 1 + 0.5 * 0.5 * 3: a token and a turn later. That of token 0 is half of it.
  expect(rows).toEqual([
    ['read', `${system}<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n`],
    ['x', -0.5, 0.875, 0.875],
    ['<|im_end|>', -0.25, 1.75, 1.75],
    ['read', '\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n'],
    ['<|im_end|>', -2, 3, 3],
  ])
})

test('rewards see the answer and the turns, never the text of a tool', async () => {
  const seen: unknown[] = []
  const maker = await makeMaker({
    environment: threeTurns,
    episode: { turnTokens: 4 },
    maxNewTokens: 12,
    rewardFn: undefined as never,
    sources: [
      {
        name: 'seen',
        kind: 'rule',
        limits: { batchSize: 1, concurrency: 1, deadlineMs: 1e9, retries: 0 },
        score: async ([input]) => {
          seen.push(input)
          return [1]
        },
      },
    ],
  })
  const { experiences } = await maker.makeExperienceList(['Hello'])
  const [one] = experiences
  expect(seen).toMatchObject([{ turns: [{}, {}, {}], messages: { length: 6 } }])
  const [{ answer, response }] = seen as [{ answer: string; response: string }]
  expect(answer).toBe(response)
  expect(answer).not.toContain('And then?')
  expect(one!.response).toContain('And then?')
  expect(one!.components).toEqual({ seen: 1, environment: one!.reward - 1 })
})

describe('an episode that is lost takes its group with it, and both are counted (trap 12)', () => {
  const losing = (lost: Partial<Session>): Environment => ({
    name: 'losing',
    version: '1',
    open: async ({ messages }, { sample }) => ({
      start: async () => messages,
      step: async () => ({ kind: 'done', reward: sample }),
      ...(messages.some(({ content }) => content === 'A') && sample === 1 ? lost : {}),
    }),
  })
  const drops = async (environment: Environment) => {
    const maker = await makeMaker({
      environment,
      episode: { retries: 1, turnTokens: 4 },
      sources: [],
      nSamplesPerPrompt: 2,
    })
    const { experiences, dropped } = await maker.makeExperienceList(['A', 'Hello'])
    return { rewards: experiences.map(({ reward }) => reward), dropped }
  }

  test('a step that fails in every attempt', async () => {
    const { rewards, dropped } = await drops(losing({ step: () => Promise.reject(new Error('no disk')) }))
    expect(rewards).toEqual([0, 1])
    expect(dropped.map(({ sample, stage, reason }) => ({ sample, stage, reason }))).toEqual([
      { sample: 1, stage: 'generation', reason: 'environment-step' },
      { sample: 0, stage: 'group', reason: 'group-incomplete' },
    ])
  })

  test('a score that fails', async () => {
    const { rewards, dropped } = await drops(losing({ score: () => Promise.reject(new Error('judge down')) }))
    expect(rewards).toEqual([0, 1])
    expect(dropped.map(({ sample, reason }) => ({ sample, reason }))).toEqual([
      { sample: 1, reason: 'unscorable' },
      { sample: 0, reason: 'group-incomplete' },
    ])
  })
})

test('episodes that all fail end the rollout with the first fault', async () => {
  const broken = toolEnvironment({ tools: [], prompt: () => [], reward: () => 1 })
  const failing: Environment = { ...broken, open: () => Promise.reject(new Error('no container')) }
  const maker = await makeMaker({ environment: failing, episode: { retries: 1 }, sources: [] })
  await expect(maker.makeExperienceList(['Hello'])).rejects.toThrow(
    /no episode ended: all 1 failed. The first: environment-open: open of the environment tools: no container/,
  )
})
