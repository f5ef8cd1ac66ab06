import { RewardConfigError } from '../errors.js'
import type { RewardSource } from '../source.js'
import { type RuleOptions, rule } from './rule.js'

export interface WordListOptions extends RuleOptions {
  /** Words or phrases that should not be in a response. */
  readonly words: readonly string[]
  /** The reward of a response with one of them. Default -1. */
  readonly penalty?: number
  /** The reward of a response without. Default 0. */
  readonly clean?: number
}

/**
 * A safety filter: a penalty for responses that contain a word of a list. Whole words, in any case and any Unicode form;
 * a list cannot see meaning, so it is a floor under a reward model, not a replacement for one.
 */
export function wordList({ name = 'word-list', words, penalty = -1, clean = 0 }: WordListOptions): RewardSource {
  const listed = words.map(fold).filter(word => word !== '')
  if (listed.length === 0) throw new RewardConfigError(`rule ${name}: words is empty`)
  const escaped = listed.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ /g, '\\s+'))
  // Not \b, which knows only ASCII letters.
  const expression = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${escaped.join('|')})(?![\\p{L}\\p{N}_])`, 'gu')
  return rule(name, ({ response }) => {
    const found = fold(response).match(expression)?.length ?? 0
    return { reward: found > 0 ? penalty : clean, metrics: { words_found: found } }
  })
}

/** One form for texts that read the same: full-width letters, case, soft hyphens and other characters one cannot see. */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .trim()
}
