import { RewardConfigError } from '../errors.js'
import type { RewardSource } from '../source.js'
import { type RuleOptions, rule } from './rule.js'

export interface FormatOptions extends RuleOptions {
  /** Tags the response should have, once each and in this order. Default `think` and `answer`. */
  readonly tags?: readonly string[]
  /** `boxed`: a `\boxed{}` follows the last tag, as in LightRFT's GSM8K rewards. Default `nothing`. */
  readonly ending?: 'boxed' | 'nothing'
  /** `forbidden`: nothing but spaces outside the tags. Default `allowed`. */
  readonly outside?: 'allowed' | 'forbidden'
  /** A tag the chat template has opened already: the response need not open it. */
  readonly openedByPrompt?: string
  /** `raw`: with special tokens, for models whose tags are special tokens. Default `response`. */
  readonly on?: 'response' | 'raw'
}

/** 1 where the response, and nothing but the response, has its parts in order; else 0. */
export function format(options: FormatOptions = {}): RewardSource {
  const {
    name = 'format',
    tags = ['think', 'answer'],
    ending = 'nothing',
    outside = 'allowed',
    on = 'response',
  } = options
  const { openedByPrompt } = options
  const odd = tags.find(tag => !/^[\w-]+$/.test(tag))
  if (odd !== undefined)
    throw new RewardConfigError(`rule ${name}: tags: "${odd}" should be a name such as think, without brackets`)
  if (tags.length === 0 && ending === 'nothing') throw new RewardConfigError(`rule ${name}: tags is empty`)
  return rule(name, ({ response, responseRaw }) => {
    const text = (openedByPrompt ? `<${openedByPrompt}>` : '') + (on === 'raw' ? responseRaw : response)
    return hasParts(text, { tags, ending, outside }) ? 1 : 0
  })
}

function hasParts(
  text: string,
  { tags, ending, outside }: Required<Pick<FormatOptions, 'tags' | 'ending' | 'outside'>>,
): boolean {
  let at = 0
  let between = ''
  for (const tag of tags) {
    const [open, close] = [`<${tag}>`, `</${tag}>`]
    const start = text.indexOf(open)
    const end = text.indexOf(close)
    const once = start === text.lastIndexOf(open) && end === text.lastIndexOf(close)
    if (start < at || end < start + open.length || !once) return false
    between += text.slice(at, start)
    at = end + close.length
  }
  const rest = text.slice(at)
  if (ending === 'boxed' && !/\\boxed\s*\{[\s\S]*\}/.test(rest)) return false
  // A box before the thinking is over is no conclusion.
  if (ending === 'boxed' && /\\boxed\s*\{/.test(text.slice(0, at))) return false
  if (outside === 'forbidden' && (between + (ending === 'boxed' ? '' : rest)).trim() !== '') return false
  return true
}
