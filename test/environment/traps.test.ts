/**
 * The traps of multi-turn training by number, each with what keeps it shut: a test by its name, or a refusal. Names are looked up, so that a
 * test that is renamed or removed is noticed here. Traps without a test elsewhere have one below.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, type Environment, episodeRules, toolEnvironment } from '../../src/environment/index.js'
import { familyTokenizer, MemoryJournal, scriptedEpisode } from '../support/episodes.js'

const runner = 'environment/runner.test.ts'
const faults = 'environment/runner-faults.test.ts'
const own = 'environment/traps.test.ts'

const traps: Readonly<Record<number, readonly [file: string, name: string]>> = {
  1: ['text/junctions.test.ts', 'the clock of a template stays that of the start (trap 1)'],
  2: [runner, 'a turn that is cut gets its end with mask 0, and goes on (trap 2)'],
  3: ['text/junctions.test.ts', 'special tokens in the text of a tool are text (trap 3)'],
  4: ['text/tool-calls.test.ts', 'what the reasoning quotes is no call (trap 4)'],
  5: ['environment/advantages.test.ts', 'stand at the ends of their turns, and pass through the holes between them'],
  6: ['environment/maker.test.ts', 'rewards see the answer and the turns, never the text of a tool'],
  7: [
    'environment/advantages.test.ts',
    'GAE goes from the last token of a turn to the first sampled token of the next',
  ],
  8: [runner, 'sampled tokens: observations do not count (trap 8)'],
  9: [
    'train/rl/episode-metrics.test.ts',
    'turns, calls, valid calls, seconds of tools, observed tokens and segments of each episode',
  ],
  10: [runner, 'results come in the order of the calls, whichever ended first (trap 10)'],
  11: [faults, 'another attempt is a new session with the same seed and other random numbers (traps 11, 12)'],
  12: ['environment/maker.test.ts', 'an episode that is lost takes its group with it, and both are counted (trap 12)'],
  13: ['train/rl/episode-metrics.test.ts', 'an environment that ignores its seed shows'],
  14: ['environment/openenv.test.ts', 'a late answer is never taken for the next one: the socket is given up'],
  15: [own, 'trap 15: a reward that is null or no number is never 0'],
  16: ['environment/openenv.test.ts', 'a full server is asked again; one that stays full says why'],
  17: [own, 'trap 17: sessions of two episodes share nothing'],
  18: [faults, 'also under cancellation, in a step and in a score'],
  19: ['environment/mcp.test.ts', 'a server that ignores the end of its input ends with all its children'],
  20: ['environment/mcp.test.ts', 'the same tools have the same version; others, or fewer, another one'],
  21: [own, 'trap 21: an episode does not go on with other tools'],
  22: [faults, 'a score that fails (trap 22)'],
  23: [runner, 'truncatedReward takes the place of all others'],
  24: ['rollout/sessions.test.ts', 'new weights keep nothing of the old ones'],
  25: [runner, 'tool calls, invalid calls, and time in a tool'],
  26: [runner, 'a template that rewrites: every rewrite is a segment, and what was sampled is trained once (trap 26)'],
  27: [faults, 'gives an image (trap 27)'],
  28: [own, 'trap 28: what a tool hides is hidden before it is recorded'],
  29: [
    'environment/recorder.test.ts',
    'side calls are not trained: titles, branches, helpers, choices that were not taken',
  ],
}

test.each(Object.entries(traps))('trap %s has its test', (_, [file, name]) => {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  expect(text).toContain(name)
})

const tokenizer = await familyTokenizer('qwen2_5')
const start = async () => [{ role: 'user', content: 'Go.' }]
const call = (name: string, given: object = {}): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`

test('trap 15: a reward that is null or no number is never 0', async () => {
  for (const reward of [null, Number.NaN, '1']) {
    const environment: Environment = {
      name: 'odd',
      version: '1',
      open: async () => ({ start, step: async () => ({ kind: 'done', reward: reward as never }) }),
    }
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: ['Hi.'], limits: { retries: 0 } })
    expect(outcome).toMatchObject({ kind: 'failed', at: 'step' })
  }
})

test('trap 17: sessions of two episodes share nothing', async () => {
  const seen: object[] = []
  const environment: Environment = {
    name: 'counting',
    version: '1',
    open: async () => {
      const state = { count: 0 }
      seen.push(state)
      return { start, step: async () => ({ kind: 'done', reward: ++state.count }) }
    },
  }
  for (let i = 0; i < 2; i++)
    expect((await scriptedEpisode({ tokenizer, environment, turns: ['Hi.'] })).outcome).toMatchObject({
      episode: { reward: 1 },
    })
  expect(new Set(seen).size).toBe(2)
})

const toolOf = (description: string, run: () => string) =>
  defineTool({ name: 'look', description, input: z.looseObject({}), effect: 'pure', run })

test('trap 21: an episode does not go on with other tools', async () => {
  const journal = new MemoryJournal()
  const turns = [call('look'), 'Done.']
  const messages = await start()
  const first = toolEnvironment({ tools: [toolOf('Looks.', () => 'a')], reward: () => 1 })
  const engine = (request: number) => (request === 1 ? ('unreachable' as const) : undefined)
  await expect(scriptedEpisode({ tokenizer, environment: first, turns, messages, journal, engine })).rejects.toThrow()
  const other = toolEnvironment({ tools: [toolOf('Sees.', () => 'a')], reward: () => 1 })
  await expect(scriptedEpisode({ tokenizer, environment: other, turns, messages, journal })).rejects.toThrow(
    /began with another environment: tools \w+, now \w+/,
  )
  // The order of tools is a part of what the model reads.
  const two = [toolOf('A.', () => ''), { ...toolOf('B.', () => ''), name: 'other' }]
  const identity = async (tools: typeof two) =>
    (await episodeRules({ environment: toolEnvironment({ tools }), tokenizer })).identity.tools
  expect(await identity(two)).not.toBe(await identity(two.toReversed()))
})

test('trap 28: what a tool keeps to itself is in no record', async () => {
  const journal = new MemoryJournal()
  const secret = 'hunter2'
  const login = defineTool({
    name: 'login',
    description: 'Logs in.',
    input: z.object({ user: z.string() }),
    effect: 'pure',
    // More fields than a result has.
    run: ({ user }) => ({ content: `token of ${user}: [hidden]`, token: secret, isError: false }),
  })
  const environment = toolEnvironment({ tools: [login], reward: () => 1 })
  const turns = [call('login', { user: 'me' }), 'Done.']
  await scriptedEpisode({ tokenizer, environment, turns, messages: await start(), journal })
  // What the model, the journal and the page see is the content that the tool chose.
  expect(journal.records.find(({ kind }) => kind === 'call-result')).toMatchObject({
    result: { content: 'token of me: [hidden]' },
  })
  expect(JSON.stringify(journal.records)).not.toContain(secret)
})
