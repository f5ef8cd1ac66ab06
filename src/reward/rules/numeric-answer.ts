import type { RewardInput } from '../input.js'
import type { RewardSource } from '../source.js'
import { afterHashes, lastBoxed, lastNumber, lastTag } from './extract-answer.js'
import { sameAnswer } from './normalize-answer.js'
import { type RuleOptions, rule, targetsOf } from './rule.js'

export const answerPlaces = ['boxed', 'hashes', 'answer-tag', 'last-number'] as const
export type AnswerPlace = (typeof answerPlaces)[number]

export interface NumericAnswerOptions extends RuleOptions {
  /** Where the answer is looked for, in this order. Default: `\boxed{}`, then GSM8K's `####`, then `<answer>`. */
  readonly answer?: readonly AnswerPlace[]
}

const find: Readonly<Record<AnswerPlace, (text: string) => string | undefined>> = {
  boxed: lastBoxed,
  hashes: afterHashes,
  'answer-tag': text => lastTag(text, 'answer'),
  'last-number': lastNumber,
}

/**
 * 1 where the response's answer is the target, 0 where it is another or none is found. Answers are compared as written, in
 * several notations, and as exact fractions; see `sameAnswer` for what counts as the same. A target may itself hold its answer
 * after `####` or in a `\boxed{}`, as in the datasets.
 */
export function numericAnswer({
  name = 'numeric-answer',
  answer = ['boxed', 'hashes', 'answer-tag'],
}: NumericAnswerOptions = {}): RewardSource {
  const grade = (input: RewardInput): number => {
    const targets = targetsOf(name, input).map(text => lastBoxed(text) ?? afterHashes(text) ?? text)
    const given = firstFound(input.response, answer)
    return given !== undefined && targets.some(target => sameAnswer(given, target)) ? 1 : 0
  }
  return rule(name, grade, { needsTarget: true })
}

function firstFound(response: string, places: readonly AnswerPlace[]): string | undefined {
  for (const place of places) {
    const found = find[place](response)
    if (found !== undefined) return found
  }
  return undefined
}
