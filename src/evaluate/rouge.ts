/** ROUGE-L (Lin, 2004) as the package rouge-score computes it, without stemming. Pure. */
import type { Compared } from './bleu.js'

export interface Rouge {
  readonly precision: number
  readonly recall: number
  readonly fmeasure: number
}

/**
 * By the longest common subsequence of words; of several references, the one of highest F-measure. Words are runs of a to z and 0 to 9
 * in lower case and nothing else is one: Chinese text has no words, and scores 0.
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
  if (corpus.length === 0) throw new RangeError('ROUGE of no texts: give at least one')
  const scores = corpus.map(rougeL)
  const mean = (name: keyof Rouge): number => scores.reduce((sum, one) => sum + one[name], 0) / scores.length
  return { precision: mean('precision'), recall: mean('recall'), fmeasure: mean('fmeasure') }
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
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
  for (const word of first) {
    for (const [j, other] of second.entries())
      row[j + 1] = word === other ? above[j]! + 1 : Math.max(above[j + 1]!, row[j]!)
    ;[above, row] = [row, above]
  }
  return above[second.length]!
}
