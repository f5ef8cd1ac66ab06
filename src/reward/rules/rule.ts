import { SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'
import type { RewardScore } from '../outcome.js'
import { defaultLimits, type RewardAnswer, type RewardSource } from '../source.js'

export interface RuleOptions {
  /** Default: the rule's own name. */
  readonly name?: string
}

/** The targets of a sample. Without one there is nothing to compare with, which is a failure and not a wrong answer. */
export function targetsOf(rule: string, { target }: RewardInput): readonly string[] {
  const list = typeof target === 'string' ? [target] : (target ?? [])
  if (list.length === 0) throw new SourceError('input', `the rule ${rule} needs a target, and the sample has none`)
  return list
}

/** A rule as a source: quick and never waiting, so that many samples go in one call. What one of them lacks is its own failure. */
export function rule(
  name: string,
  grade: (input: RewardInput) => number | RewardScore,
  needs: Pick<RewardSource, 'needsTarget'> = {},
): RewardSource {
  const answer = (input: RewardInput): RewardAnswer => {
    try {
      return grade(input)
    } catch (error) {
      const reason = error instanceof SourceError ? error.reason : 'threw'
      return { kind: 'failed', reason, message: (error as Error).message }
    }
  }
  return { name, kind: 'rule', limits: defaultLimits.rule, ...needs, score: async inputs => inputs.map(answer) }
}
