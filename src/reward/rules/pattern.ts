import { RewardConfigError } from '../errors.js'
import type { RewardSource } from '../source.js'
import { type RuleOptions, rule } from './rule.js'

export interface PatternOptions extends RuleOptions {
  /** A JavaScript regular expression. */
  readonly pattern: string
  /** Its flags, such as `i`. Default `u`. */
  readonly flags?: string
  /** Whether the whole response should match, or a part of it (default). */
  readonly match?: 'part' | 'whole'
  /** `raw`: with special tokens. Default `response`. */
  readonly on?: 'response' | 'raw'
}

/** 1 where the response matches a regular expression, else 0. */
export function pattern({
  name = 'pattern',
  pattern: source,
  flags = 'u',
  match = 'part',
  on = 'response',
}: PatternOptions): RewardSource {
  let expression: RegExp
  try {
    // g and y would make the answer depend on the sample before.
    expression = new RegExp(match === 'whole' ? `^(?:${source})$` : source, flags.replace(/[gy]/g, ''))
  } catch (cause) {
    throw new RewardConfigError(`rule ${name}: pattern: ${(cause as Error).message}`, { cause })
  }
  return rule(name, ({ response, responseRaw }) => (expression.test(on === 'raw' ? responseRaw : response) ? 1 : 0))
}
