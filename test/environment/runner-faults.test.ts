/** The runner of episodes when a tool, the engine or a session fails. Numbers of traps are those of the docs. */
import { describe, expect, test } from 'vitest'
import { calculator, type Environment, type Session } from '../../src/environment/index.js'
import { EngineLostError } from '../../src/rollout/index.js'
import { MemoryJournal, scriptedEpisode } from '../support/episodes.js'
import { asked, call, tokenizer, toolOf, withTools } from './qwen-tools.js'

describe('faults', () => {
  const throwing = toolOf('broken', () => {
    throw new Error('disk full')
  })
  const silent = toolOf('silent', () => new Promise(() => {}), { timeoutMs: 20 })
  const nothing = toolOf('nothing', () => undefined)
  const picture = toolOf('picture', () => ({ content: [{ type: 'image', image: 'x' }] }))

  test.each([
    ['throws', throwing, /tool broken: disk full/],
    ['never returns', silent, /tool silent: no answer within 0.02 seconds/],
    ['returns nothing', nothing, /expected a text/],
    ['gives an image (trap 27)', picture, /images are not supported/],
  ])('a tool that %s fails the episode in every attempt, and is never a reward', async (_, tool, message) => {
    const journal = new MemoryJournal()
    const { outcome, released } = await scriptedEpisode({
      ...asked,
      tokenizer,
      environment: withTools(tool),
      turns: [call(tool.name), call(tool.name)],
      limits: { retries: 1 },
      journal,
    })
    expect(outcome).toMatchObject({
      kind: 'failed',
      at: 'tool',
      message: expect.stringMatching(message),
      key: { attempt: 1 },
    })
    expect(journal.records.filter(({ kind }) => kind === 'attempt-failed')).toHaveLength(1)
    expect(released).toEqual(['test/row/0/0', 'test/row/0/1'])
  })

  test('a call that must not be repeated and whose answer is lost is an unknown effect (trap 5 of the introduction)', async () => {
    const environment = withTools({ ...silent, effect: 'once' })
    const { outcome } = await scriptedEpisode({
      ...asked,
      tokenizer,
      environment,
      turns: [call('silent')],
      limits: { retries: 0 },
    })
    expect(outcome).toMatchObject({ kind: 'failed', at: 'effect-unknown' })
  })

  test('another attempt is a new session with the same seed and other random numbers (traps 11, 12)', async () => {
    const opened: { attempt: number; seed: number }[] = []
    const environment: Environment = {
      ...withTools(calculator),
      open: async (_, { attempt, seed }) => {
        opened.push({ attempt, seed })
        if (attempt === 0) throw new Error('no container')
        const step = async () => {
          if (attempt === 1) throw new Error('container lost')
          return { kind: 'done', reward: 2 } as const
        }
        return { start: async () => asked.messages, step }
      },
    }
    const { outcome, prompts, streams } = await scriptedEpisode({
      ...asked,
      tokenizer,
      environment,
      turns: ['Hi.', 'Hi.'],
      limits: { retries: 2 },
    })
    expect(outcome).toMatchObject({ kind: 'finished', episode: { reward: 2, key: { attempt: 2 } } })
    expect(prompts[0]).toEqual(prompts[1])
    expect(new Set(streams).size).toBe(2)
    expect(opened.map(({ attempt }) => attempt)).toEqual([0, 1, 2])
    expect(new Set(opened.map(({ seed }) => seed)).size).toBe(1)
  })

  test.each<[string, Partial<Session>, object]>([
    [
      'a reward that is no number',
      { step: async () => ({ kind: 'done', reward: Number.NaN }) },
      { kind: 'failed', at: 'step' },
    ],
    ['a step without a kind', { step: async () => ({}) as never }, { kind: 'failed', at: 'step' }],
    [
      'a message of the assistant',
      { step: async () => ({ kind: 'go-on', messages: [{ role: 'assistant', content: 'me' }] }) },
      { kind: 'failed', at: 'step' },
    ],
    [
      'a score that fails (trap 22)',
      { score: () => Promise.reject(new Error('judge down')) },
      { kind: 'unscorable', message: expect.stringContaining('judge down') },
    ],
    ['a score that is no number', { score: async () => Number.POSITIVE_INFINITY }, { kind: 'unscorable' }],
    [
      'a close that fails (trap 18)',
      { close: () => Promise.reject(new Error('gone')) },
      { kind: 'finished', episode: { leak: expect.stringContaining('gone') } },
    ],
    ['a step that hangs', { step: () => new Promise(() => {}) }, { kind: 'failed', at: 'step' }],
  ])('%s', async (_, session, expected) => {
    const usual: Session = { start: async () => asked.messages, step: async () => ({ kind: 'done', reward: 1 }) }
    const environment: Environment = { name: 'one', version: '1', open: async () => ({ ...usual, ...session }) }
    const { outcome } = await scriptedEpisode({
      tokenizer,
      environment,
      turns: ['Hi.'],
      limits: { retries: 0, stepSeconds: 0.05 },
    })
    expect(outcome).toMatchObject(expected)
  })
})

describe("faults of the engine are the engine's", () => {
  const twice: Environment = {
    name: 'twice',
    version: '1',
    open: async () => ({
      start: async () => asked.messages,
      step: async ({ turn }) =>
        turn === 1 ? { kind: 'done', reward: 1 } : { kind: 'go-on', messages: [{ role: 'user', content: 'Again.' }] },
    }),
  }
  const turns = ['One.', 'Two.']

  test.each(['engine', 'timeout', 'protocol', 'abort'] as const)(
    'a turn that ends with %s is asked for again, in the same session',
    async wrong => {
      const journal = new MemoryJournal()
      const engine = (request: number) => (request === 1 ? wrong : undefined)
      const { outcome, prompts } = await scriptedEpisode({ tokenizer, environment: twice, turns, journal, engine })
      expect(outcome).toMatchObject({ kind: 'finished', episode: { reward: 1, key: { attempt: 0 } } })
      expect(prompts[1]).toEqual(prompts[2])
      expect(journal.records.map(({ kind }) => kind)).toEqual(['episode-opened', 'turn', 'turn', 'episode'])
    },
  )

  test('an engine that never answers it ends the episode without another session', async () => {
    const { outcome, prompts } = await scriptedEpisode({ tokenizer, environment: twice, turns, engine: () => 'engine' })
    expect(outcome).toMatchObject({ kind: 'failed', at: 'generator', key: { attempt: 0 } })
    expect(prompts).toHaveLength(3)
    const nan = await scriptedEpisode({ tokenizer, environment: twice, turns, engine: () => 'non-finite' })
    expect(nan.prompts).toHaveLength(1)
  })

  test('one that is away ends the rollout, the session is closed, and the episode goes on later', async () => {
    const journal = new MemoryJournal()
    let closes = 0
    const closing: Environment = {
      ...twice,
      open: async (task, options) => ({ ...(await twice.open(task, options)), close: async () => void closes++ }),
    }
    const engine = (request: number) => (request === 1 ? ('unreachable' as const) : undefined)
    const given = { tokenizer, environment: closing, journal }
    await expect(scriptedEpisode({ ...given, turns, engine })).rejects.toThrow(EngineLostError)
    expect(closes).toBe(1)
    expect(journal.records.map(({ kind }) => kind)).toEqual(['episode-opened', 'turn'])
    const { outcome, prompts } = await scriptedEpisode({ ...given, turns: turns.slice(1) })
    expect(outcome).toMatchObject({
      kind: 'finished',
      episode: { reward: 1, turns: { length: 2 }, key: { attempt: 0 } },
    })
    expect(prompts).toHaveLength(1)
  })

  test('its time does not count as time of the episode', async () => {
    const engine = (request: number) => {
      const until = performance.now() + (request === 0 ? 450 : 0)
      while (performance.now() < until);
      return undefined
    }
    const { outcome } = await scriptedEpisode({
      tokenizer,
      environment: twice,
      turns,
      engine,
      limits: { seconds: 0.4 },
    })
    expect(outcome).toMatchObject({ kind: 'finished' })
  })
})

describe('a session is closed on every path (trap 18)', () => {
  const opening = (open: () => Promise<Session>, close: () => Promise<void>): Environment => ({
    name: 'one',
    version: '1',
    open: async () => ({ ...(await open()), close }),
  })
  const session: Session = { start: async () => asked.messages, step: async () => ({ kind: 'done', reward: 1 }) }

  test('also one that came too late', async () => {
    let closes = 0
    const late = () => new Promise<Session>(resolve => setTimeout(() => resolve(session), 40))
    const environment = opening(late, async () => void closes++)
    const limits = { openSeconds: 0.01, retries: 0 }
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: [], limits })
    expect(outcome).toMatchObject({ kind: 'failed', at: 'open' })
    await expect.poll(() => closes).toBe(1)
  })

  test('also under cancellation, in a step and in a score', async () => {
    for (const place of ['step', 'score'] as const) {
      let closes = 0
      const stop = new AbortController()
      const hanging = async () => ({
        ...session,
        [place]: () => {
          setTimeout(() => stop.abort(new Error('stopped')), 5)
          return new Promise<never>(() => {})
        },
      })
      const environment = opening(hanging, async () => void closes++)
      const run = scriptedEpisode({ tokenizer, environment, turns: ['Hi.'], signal: stop.signal })
      await expect(run).rejects.toThrow('stopped')
      expect(closes).toBe(1)
    }
  })
})
