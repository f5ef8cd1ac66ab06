/** Sacrebleu's tokenizers, character for character: a BLEU score means nothing without the name of its tokenizer. Pure. */
import { spacelessCharacter } from '../text/index.js'

export const bleuTokenizers = ['13a', 'zh', 'char'] as const
/**
 * `13a`: words and punctuation, as mteval-v13a of WMT; `zh`: the same with every Chinese character a token; `char`: every character
 * is a token.
 */
export type BleuTokenizer = (typeof bleuTokenizers)[number]

const letter = /\p{L}/gu
const ideograph = /\p{sc=Han}/gu
const otherSpaceless = new RegExp(`(?!\\p{sc=Han})(?=${spacelessCharacter})\\p{L}`, 'gu')
/** Share of letters from which a text belongs to a script. */
const noticeable = 0.1

/**
 * The tokenizer for the script of the references: `13a` splits at spaces, which Chinese, Japanese and Thai do not have. A tenth of the
 * letters decides: names and quotations do not.
 *
 * @example
 * bleuTokenizerFor(['今天天气很好。']) // zh
 */
export function bleuTokenizerFor(references: Iterable<string>): BleuTokenizer {
  let [letters, ideographs, others] = [0, 0, 0]
  const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0
  for (const text of references) {
    letters += count(text, letter)
    ideographs += count(text, ideograph)
    others += count(text, otherSpaceless)
  }
  // The tokenizer for Chinese leaves kana and Thai in one piece.
  if (others > 0 && others >= noticeable * letters) return 'char'
  return ideographs > 0 && ideographs >= noticeable * letters ? 'zh' : '13a'
}

/** What Python calls a space: with the separators that JavaScript's `\s` leaves out, and without the byte order mark. */
const spaces = '[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+'
const spacesBetween = new RegExp(spaces, 'u')
const spacesAtEnd = new RegExp(`${spaces}$`, 'u')
const spacesAtStart = new RegExp(`^${spaces}`, 'u')

export function bleuTokens(text: string, tokenizer: BleuTokenizer): string[] {
  const line = text.replace(spacesAtEnd, '')
  if (tokenizer === 'char') return [...line].filter(character => !spacesBetween.test(character))
  return split(tokenizer === 'zh' ? separateChinese(line) : unescapeLine(line))
}

function unescapeLine(line: string): string {
  const joined = line.replaceAll('<skipped>', '').replaceAll('-\n', '').replaceAll('\n', ' ')
  const plain = joined
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
  return ` ${plain} `
}

/**
 * The characters that sacrebleu takes for Chinese. Its table means to begin with the supplementary planes (20000 to 2A6D6, 2F800 to
 * 2FA1D) but writes them with four digits, so that what it compares with is 2001 to 2A6D and 2F81 to 2FA1: general punctuation,
 * arrows and mathematical signs are separated, ideographs beyond the basic plane are not. Scores are equal only with the same ranges.
 */
const chinese =
  /[\u3400-\u4db5\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\u2001-\u2a6d\u2f81-\u2fa1\uff00-\uffef\u2e80-\u2eff\u3000-\u303f\u31c0-\u31ef\u2f00-\u2fdf\u2ff0-\u2fff\u3100-\u312f\u31a0-\u31bf\ufe10-\ufe1f\ufe30-\ufe4f\u3200-\u33ff]/gu

function separateChinese(line: string): string {
  return line.replace(spacesAtStart, '').replace(chinese, ' $& ')
}

const steps: readonly (readonly [RegExp, string])[] = [
  // Punctuation and symbols, but for the apostrophe, comma, dash and period.
  [/([{-~[-` -&(-+:-@/])/gu, ' $1 '],
  // A period or comma, unless a digit comes before it; then unless one follows.
  [/([^0-9])([.,])/gu, '$1 $2 '],
  [/([.,])([^0-9])/gu, ' $1 $2'],
  // A dash behind a digit.
  [/([0-9])(-)/gu, '$1 $2 '],
]

function split(line: string): string[] {
  let separated = line
  for (const [pattern, replacement] of steps) separated = separated.replace(pattern, replacement)
  return separated.split(spacesBetween).filter(token => token !== '')
}
