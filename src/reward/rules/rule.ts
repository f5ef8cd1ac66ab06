import { SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'

export interface RuleOptions {
  /** Default: the rule's own name. */
  readonly name?: string
}

/** The references of a sample. Without one there is nothing to compare with, which is a failure and not a wrong answer. */
export function referencesOf(rule: string, { reference }: RewardInput): readonly string[] {
  const list = typeof reference === 'string' ? [reference] : (reference ?? [])
  if (list.length === 0)
    throw new SourceError('input', `the rule ${rule} compares with a reference, and the sample has none`)
  return list
}
