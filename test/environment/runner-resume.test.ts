/** What a killed process leaves of an episode, and how the runner goes on. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineTool,
  type Effect,
  type Environment,
  type EpisodeJournalRecord,
  type EpisodeOutcome,
  episodeSequences,
  restartedRecords,
  type Session,
} from '../../src/environment/index.js'
import { MemoryJournal, scriptedEpisode } from '../support/episodes.js'
import { asked, call, episodeOf, results, tokenizer, withTools } from './qwen-tools.js'

describe('a process that is killed at any record', () => {
  /** Calls of each tool, and an episode with calls of one effect. */
  function world(effect: Effect) {
    const calls: string[] = []
    const tool = defineTool({
      name: 'act',
      description: 'Acts.',
      input: z.object({ n: z.number() }),
      effect,
      run: ({ n }, { id }) => {
        calls.push(id)
        return `did ${n}`
      },
    })
    const turns = [call('act', { n: 1 }), call('act', { n: 2 }), 'Done.']
    return { calls, environment: withTools(tool), turns }
  }

  /** Records up to a number of them, and dies at the next. */
  class Dying extends MemoryJournal {
    constructor(readonly most: number) {
      super()
    }
    override async keepEpisode(record: EpisodeJournalRecord): Promise<void> {
      if (this.records.length === this.most) throw new Error('killed')
      await super.keepEpisode(record)
    }
  }

  test.each<Effect>(['pure', 'idempotent', 'once'])('goes on: %s', async effect => {
    const whole = world(effect)
    const complete = new MemoryJournal()
    const { outcome: expected } = await scriptedEpisode({ ...asked, ...whole, tokenizer, journal: complete })
    const records = complete.records.length
    expect(complete.records.map(({ kind }) => kind)).toEqual([
      'episode-opened',
      ...['turn', 'call', 'call-result', 'turn', 'call', 'call-result', 'turn', 'episode'],
    ])
    for (let most = 0; most <= records; most++) {
      const { calls, environment, turns } = world(effect)
      const dying = new Dying(most)
      const first = scriptedEpisode({ ...asked, environment, turns, tokenizer, journal: dying })
      if (most < records) await expect(first).rejects.toThrow('killed')
      else await first
      const before = calls.length
      const journal = new MemoryJournal()
      journal.records.push(...dying.records)
      const known = dying.records.filter(({ kind }) => kind === 'turn').length
      const delivered = dying.records.some(({ kind }) => kind === 'call')
      const ended = dying.records.some(({ kind }) => kind === 'episode')
      const restarted = effect === 'once' && delivered && !ended
      const left = restarted ? turns : turns.slice(known)
      const { outcome, prompts } = await scriptedEpisode({ ...asked, environment, turns: left, tokenizer, journal })
      // Recorded turns are not sampled again, and a finished episode is not run again.
      expect(prompts).toHaveLength(left.length)
      if (ended) expect(calls).toHaveLength(before)
      if (restarted) {
        expect(outcome).toMatchObject({ kind: 'finished', episode: { key: { attempt: 1 } } })
        // No call of the first session was made again.
        expect(new Set(calls).size).toBe(calls.length)
      } else expect(withoutTimes(outcome)).toEqual(withoutTimes(expected))
      if (effect === 'pure' && !ended) {
        const answered = dying.records.filter(({ kind }) => kind === 'call-result').length
        expect(calls.length - before).toBe(2 - answered)
      }
    }
  })

  test('a failed episode starts again in a resumed run, unless a call must not be repeated and no session may follow', async () => {
    for (const effect of ['idempotent', 'once'] as const)
      for (const retries of [0, 1]) {
        const { calls, environment, turns } = world(effect)
        const journal = new MemoryJournal()
        const broken: Environment = {
          ...environment,
          open: async (...given) => ({
            ...((await environment.open(...given)) as Session),
            step: () => Promise.reject(new Error('no disk')),
          }),
        }
        const given = { ...asked, tokenizer, limits: { retries }, journal }
        const failed = await scriptedEpisode({ ...given, environment: broken, turns: [turns[0]!, turns[0]!] })
        expect(failed.outcome).toMatchObject({ kind: 'failed', key: { attempt: retries } })
        expect(calls).toHaveLength(retries + 1)
        const restarted = restartedRecords(journal.records)!
        expect(restartedRecords(restarted)).toBeUndefined()
        journal.records.splice(0, journal.records.length, ...restarted)
        const again = await scriptedEpisode({ ...given, environment, turns })
        const key = { attempt: retries + 1 }
        if (effect === 'once' && retries === 0) {
          expect(again.outcome).toMatchObject({ kind: 'failed', at: 'effect-unknown', key })
          expect(calls).toHaveLength(1)
        } else {
          expect(again.outcome).toMatchObject({ kind: 'finished', episode: { key } })
          expect(new Set(calls).size).toBe(calls.length)
        }
      }
  })

  test('what was recorded after another answer of the environment is sampled and called again', async () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({ n: z.number() }),
      effect: 'pure',
      run: ({ n }) => `saw ${n}`,
    })
    const answering = (first: string): Environment => ({
      name: 'changing',
      version: '1',
      tools: [look],
      open: async () => ({
        start: async () => asked.messages,
        step: async ({ turn }) => {
          if (turn === 3) return { kind: 'done', reward: 1 }
          return { kind: 'go-on', messages: [{ role: 'user', content: turn === 0 ? first : 'Go on.' }] }
        },
      }),
    })
    const dying = new Dying(6)
    const first = ['One.', call('look', { n: 1 }), 'Three.', 'Four.']
    const killed = scriptedEpisode({ tokenizer, environment: answering('Left.'), turns: first, journal: dying })
    await expect(killed).rejects.toThrow('killed')
    expect(dying.records.at(-1)).toMatchObject({ kind: 'turn', turn: 2 })
    const journal = new MemoryJournal()
    journal.records.push(...dying.records)
    const left = [call('look', { n: 2 }), 'Three again.', 'Four.']
    const given = { tokenizer, environment: answering('Right.'), journal }
    const { outcome, prompts } = await scriptedEpisode({ ...given, turns: left })
    expect(prompts).toHaveLength(3)
    expect(episodeOf(outcome).turns.map(({ text }) => text)).toEqual(['One.', '', 'Three again.', 'Four.'])
    expect(results(outcome)).toEqual(['saw 2'])
    const [sequence] = episodeSequences(episodeOf(outcome), { promptId: 'row', row: {} })
    for (const prompt of prompts) expect(sequence!.ids.subarray(0, prompt.length)).toEqual(prompt)
    const again = await scriptedEpisode({ ...given, turns: [] })
    expect(withoutTimes(again.outcome)).toEqual(withoutTimes(outcome))
  })

  const withoutTimes = (outcome: EpisodeOutcome): unknown =>
    JSON.parse(JSON.stringify(outcome, (key, value) => (key === 'toolSeconds' ? 0 : value)))
})
