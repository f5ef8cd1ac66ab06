import type { RunView } from '../run/index.js'

/** Reward files that a page may name: those of the command line, and those of the run's config. A page cannot bring code. */
export function rewardNames({ config: { config } }: RunView, given: readonly string[]): string[] {
  const { rewards } = (config ?? {}) as { rewards?: unknown }
  const own = (Array.isArray(rewards) ? rewards : [rewards]).filter(one => typeof one === 'string')
  return [...new Set([...given, ...own])]
}
