/** ROUGE-L (Lin, 2004) as the package rouge-score computes it, without stemming, and for other scripts than Latin too. Pure. */
import { spacelessCharacter } from '../text/index.js'
import type { Compared } from './bleu.js'

export interface Rouge {
  readonly precision: number
  readonly recall: number
  readonly fmeasure: number
}

/**
 * By the longest common subsequence of words; of several references, the one of highest F-measure. Words are runs of a to z and 0 to 9
 * in lower case, as in rouge-score. Where rouge-score sees no words there are more: in scripts without spaces (Chinese, Japanese, Thai)
 * each character is one, in other scripts (Cyrillic, Arabic, Korean) each run of letters.
 *
 * @example
 * const { fmeasure } = rougeL({ hypothesis: 'the cat sat', references: ['the cat sat down'] })
 */
export function rougeL({ hypothesis, references }: Compared): Rouge {
  if (references.length === 0) throw new RangeError('ROUGE needs at least one reference for each text')
  const words = wordsOf(hypothesis)
  return references
    .map(reference => score(words, wordsOf(reference)))
    .reduce((best, one) => (one.fmeasure > best.fmeasure ? one : best))
}

/** The mean over texts. */
export function meanRougeL(corpus: readonly Compared[]): Rouge {
  if (corpus.length === 0) throw new RangeError('ROUGE: expected at least one text')
  const scores = corpus.map(rougeL)
  const mean = (name: keyof Rouge): number => scores.reduce((sum, one) => sum + one[name], 0) / scores.length
  return { precision: mean('precision'), recall: mean('recall'), fmeasure: mean('fmeasure') }
}

// Latin letters beyond a to z end a word, as in rouge-score; letters without a script are signs of mathematics and the like.
const otherLetter = `(?!${spacelessCharacter})(?![\\p{sc=Latin}\\p{sc=Common}\\p{sc=Inherited}])\\p{L}\\p{M}*`
const word = new RegExp(`[a-z0-9]+|(?=${spacelessCharacter})[\\p{L}\\p{N}]\\p{M}*|(?:${otherLetter})+`, 'gu')

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(word) ?? []
}

function score(words: readonly string[], reference: readonly string[]): Rouge {
  if (words.length === 0 || reference.length === 0) return { precision: 0, recall: 0, fmeasure: 0 }
  const common = commonLength(words, reference)
  const precision = common / words.length
  const recall = common / reference.length
  const fmeasure = common === 0 ? 0 : (2 * precision * recall) / (precision + recall)
  return { precision, recall, fmeasure }
}

/** The length of the longest common subsequence, with one row of the table at a time. */
function commonLength(first: readonly string[], second: readonly string[]): number {
  let above = new Uint32Array(second.length + 1)
  let row = new Uint32Array(second.length + 1)
  for (const one of first) {
    for (let j = 0; j < second.length; j++)
      row[j + 1] = one === second[j] ? above[j]! + 1 : Math.max(above[j + 1]!, row[j]!)
    ;[above, row] = [row, above]
  }
  return above[second.length]!
}
