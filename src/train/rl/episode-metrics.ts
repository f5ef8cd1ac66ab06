/** Numbers of episodes: turns, calls and tools. */
import type { Experience } from '../../experience/index.js'

/** Means over episodes; empty where samples are no episodes. */
export function episodeMetrics(experiences: readonly Experience[]): Record<string, number> {
  const episodes = experiences.flatMap(({ turns, segment = 0 }) => (turns && segment === 0 ? [turns] : []))
  if (episodes.length === 0) return {}
  const mean = (of: (turns: (typeof episodes)[number]) => number): number =>
    episodes.reduce((sum, turns) => sum + of(turns), 0) / episodes.length
  const calls = episodes.flat().flatMap(turn => turn.calls)
  const segments = (turns: (typeof episodes)[number]): number => turns.at(-1)!.segment + 1
  return {
    'episode/turns': mean(turns => turns.length),
    'episode/calls': mean(turns => turns.reduce((sum, turn) => sum + turn.calls.length, 0)),
    ...(calls.length > 0
      ? { 'episode/valid_calls': calls.filter(({ status }) => status === 'ok').length / calls.length }
      : {}),
    'episode/tool_seconds': mean(turns => turns.reduce((sum, turn) => sum + (turn.toolSeconds ?? 0), 0)),
    'episode/observed': mean(turns => turns.slice(1).reduce((sum, turn) => sum + turn.observationIds.length, 0)),
    'episode/segments': mean(segments),
  }
}
