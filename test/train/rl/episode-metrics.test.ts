/** Numbers of episodes, from the first iteration on (traps 9 and 13). */
import { expect, test } from 'vitest'
import type { Experience } from '../../../src/experience/index.js'
import { episodeMetrics } from '../../../src/train/rl/episode-metrics.js'

type Turn = NonNullable<Experience['turns']>[number]

const turn = (observed: number, statuses: readonly string[] = [], more: Partial<Turn> = {}): Turn =>
  ({
    observationIds: Int32Array.from({ length: observed }, (_, i) => i),
    calls: statuses.map(status => ({ status })),
    segment: 0,
    ...more,
  }) as unknown as Turn

const episode = (promptId: string, turns: readonly Turn[], segment?: number): Experience =>
  ({ sequence: { promptId }, turns, ...(segment === undefined ? {} : { segment }) }) as unknown as Experience

test('turns, calls, valid calls, seconds of tools, observed tokens and segments of each episode', () => {
  const one = [turn(9, ['ok', 'schema'], { toolSeconds: 0.5 }), turn(4, ['ok'], { toolSeconds: 1 }), turn(3)]
  const two = [turn(9), turn(20, [], { segment: 1 })]
  // An episode of two segments is two experiences and one episode.
  expect(episodeMetrics([episode('a', one), episode('a', two, 0), episode('a', two, 1)])).toEqual({
    'episode/turns': 2.5,
    'episode/calls': 1.5,
    'episode/valid_calls': 2 / 3,
    'episode/tool_seconds': 0.75,
    'episode/observed': 13.5,
    'episode/segments': 1.5,
    'episode/same_start': 1,
  })
  expect(episodeMetrics([{ sequence: { promptId: 'a' } } as unknown as Experience])).toEqual({})
})

test('an environment that ignores its seed shows', () => {
  const episodes = [episode('a', [turn(3)]), episode('a', [turn(3)]), episode('a', [turn(4)]), episode('b', [turn(5)])]
  expect(episodeMetrics(episodes)['episode/same_start']).toBe(0.75)
  expect(episodeMetrics(episodes)).not.toHaveProperty('episode/valid_calls')
})
