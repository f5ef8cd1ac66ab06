import { responseIds } from '../../sequence/index.js'
import { RewardConfigError, SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'
import type { RewardSource } from '../source.js'
import { type RuleOptions, rule } from './rule.js'

export interface LengthOptions extends RuleOptions {
  readonly unit?: 'tokens' | 'characters' | 'words'
  /** Shorter responses get less. Default 0. */
  readonly min?: number
  /** Longer responses get less. */
  readonly max?: number
  /** How far beyond `min` or `max` the reward falls from 1 to 0, in a straight line. Default 0: at once. */
  readonly falloff?: number
}

/** 1 for a response of a length between `min` and `max`, down to 0 beyond them. */
export function length(options: LengthOptions = {}): RewardSource {
  const { name = 'length', unit = 'tokens', min = 0, max = Number.POSITIVE_INFINITY, falloff = 0 } = options
  if (!(min >= 0 && max >= min && falloff >= 0))
    throw new RewardConfigError(
      `rule ${name}: expected 0 <= min <= max and falloff >= 0, got ${min}, ${max}, ${falloff}`,
    )
  if (min === 0 && max === Number.POSITIVE_INFINITY)
    throw new RewardConfigError(`rule ${name}: expected min, max or both`)
  return rule(name, input => {
    const size = measure[unit](input)
    const beyond = Math.max(min - size, size - max, 0)
    const reward = beyond === 0 ? 1 : falloff === 0 ? 0 : Math.max(0, 1 - beyond / falloff)
    return { reward, metrics: { length: size } }
  })
}

const measure: Readonly<Record<NonNullable<LengthOptions['unit']>, (input: RewardInput) => number>> = {
  tokens: ({ sequence, responseRaw }) => {
    const { length } = responseIds(sequence)
    if (length === 0 && responseRaw !== '')
      throw new SourceError('input', 'the sample has no ids to count; use characters or words')
    return length
  },
  // By code points: an emoji is one character, not two.
  characters: ({ response }) => [...response].length,
  words: ({ response }) => response.split(/\s+/).filter(word => word !== '').length,
}
