import type { RewardInput } from '../input.js'
import type { RewardSource } from '../source.js'
import { lastBoxed, lastTag } from './extract-answer.js'
import { type RuleOptions, rule, targetsOf } from './rule.js'

export interface ExactMatchOptions extends RuleOptions {
  /** What of the response is compared: all of it (default), the last `<answer>`, or the last `\boxed{}`. */
  readonly answer?: 'whole' | 'answer-tag' | 'boxed'
  /** Whether upper and lower case differ. Default `sensitive`. */
  readonly letterCase?: 'sensitive' | 'insensitive'
}

/**
 * 1 where the answer is the target, or one of them; 0 where it is not. Spaces around both do not count, and runs of
 * spaces count as one.
 */
export function exactMatch({
  name = 'exact-match',
  answer = 'whole',
  letterCase = 'sensitive',
}: ExactMatchOptions = {}): RewardSource {
  const plain = (text: string) => {
    const spaced = text.normalize('NFC').trim().replace(/\s+/g, ' ')
    return letterCase === 'insensitive' ? spaced.toLowerCase() : spaced
  }
  const grade = (input: RewardInput): number => {
    const targets = targetsOf(name, input)
    const { response } = input
    const given = answer === 'whole' ? response : answer === 'boxed' ? lastBoxed(response) : lastTag(response, 'answer')
    return given !== undefined && targets.some(target => plain(target) === plain(given)) ? 1 : 0
  }
  return rule(name, grade, { needsTarget: true })
}
