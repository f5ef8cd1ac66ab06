/** Numbers of episodes: turns, calls and tools. */
import type { Experience } from '../../experience/index.js'

type EpisodeTurns = NonNullable<Experience['turns']>

/** Means over episodes; empty where samples are no episodes. */
export function episodeMetrics(experiences: readonly Experience[]): Record<string, number> {
  const whole = experiences.filter(({ turns, segment = 0 }) => turns && segment === 0)
  const episodes = whole.map(({ turns }) => turns!)
  if (episodes.length === 0) return {}
  const mean = (of: (turns: EpisodeTurns) => number): number =>
    episodes.reduce((sum, turns) => sum + of(turns), 0) / episodes.length
  const calls = episodes.flat().flatMap(turn => turn.calls)
  const segments = (turns: EpisodeTurns): number => turns.at(-1)!.segment + 1
  return {
    'episode/turns': mean(turns => turns.length),
    'episode/calls': mean(turns => turns.reduce((sum, turn) => sum + turn.calls.length, 0)),
    ...(calls.length > 0
      ? { 'episode/valid_calls': calls.filter(({ status }) => status === 'ok').length / calls.length }
      : {}),
    'episode/tool_seconds': mean(turns => turns.reduce((sum, turn) => sum + (turn.toolSeconds ?? 0), 0)),
    'episode/observed': mean(turns => turns.slice(1).reduce((sum, turn) => sum + turn.observationIds.length, 0)),
    'episode/segments': mean(segments),
    'episode/same_start': sameStart(whole),
  }
}

/** The share of episodes that began as the first one of their prompt. */
function sameStart(episodes: readonly Experience[]): number {
  const firsts = new Map<string, string>()
  let same = 0
  for (const { sequence, turns } of episodes) {
    const start = turns![0]!.observationIds.join()
    if (!firsts.has(sequence.promptId)) firsts.set(sequence.promptId, start)
    if (firsts.get(sequence.promptId) === start) same++
  }
  return same / episodes.length
}
