/** BLEU (Papineni et al., 2002) with sacrebleu's defaults and its numbers: four orders of n-grams, exponential smoothing. Pure. */
import { type BleuTokenizer, bleuTokenizerFor, bleuTokens } from './bleu-tokenizers.js'

const orders = 4
/** Sacrebleu's logarithm of 0. */
const logOfZero = -9_999_999_999

/** A text and what it is compared with. */
export interface Compared {
  readonly hypothesis: string
  /** One or more, any of which will do. */
  readonly references: readonly string[]
}

export interface Bleu {
  /** From 0 to 100. */
  readonly score: number
  /** Of each order, from 0 to 100, smoothed where nothing matched. */
  readonly precisions: readonly number[]
  /** For texts that are shorter than their references. */
  readonly brevityPenalty: number
  /** Tokens of all texts, and of the reference closest in length of each. */
  readonly hypothesisLength: number
  readonly referenceLength: number
  readonly tokenizer: BleuTokenizer
}

export interface BleuOptions {
  /** Default `auto`: by the script of the references, `13a` where words have spaces between them. */
  readonly tokenizer?: BleuTokenizer | 'auto'
  /** `effective`: orders that a text is too short for do not count, as for single sentences. Default `all`. */
  readonly orders?: 'all' | 'effective'
}

/**
 * BLEU of a corpus: n-grams are counted over all its texts, which is not the mean of their scores.
 *
 * @example
 * const { score } = corpusBleu([{ hypothesis: 'The cat sat.', references: ['The cat sat down.', 'A cat sat.'] }])
 */
export function corpusBleu(corpus: readonly Compared[], options: BleuOptions = {}): Bleu {
  const { tokenizer: asked = 'auto', orders: counted = 'all' } = options
  if (corpus.length === 0) throw new RangeError('BLEU: expected at least one text')
  const tokenizer = asked === 'auto' ? bleuTokenizerFor(corpus.flatMap(({ references }) => references)) : asked
  const correct = new Array<number>(orders).fill(0)
  const total = new Array<number>(orders).fill(0)
  let [hypothesisLength, referenceLength] = [0, 0]
  for (const { hypothesis, references } of corpus) {
    if (references.length === 0) throw new RangeError('BLEU needs at least one reference for each text')
    const tokens = bleuTokens(hypothesis, tokenizer)
    const referenceTokens = references.map(text => bleuTokens(text, tokenizer))
    hypothesisLength += tokens.length
    referenceLength += closestLength(
      tokens.length,
      referenceTokens.map(({ length }) => length),
    )
    for (let order = 1; order <= orders; order++) {
      const most = mostOfEach(referenceTokens.map(words => ngrams(words, order)))
      for (const [ngram, count] of ngrams(tokens, order)) {
        total[order - 1]! += count
        correct[order - 1]! += Math.min(count, most.get(ngram) ?? 0)
      }
    }
  }
  const brevityPenalty = penalty(hypothesisLength, referenceLength)
  const { precisions, effective } = smoothed(correct, total)
  const used = precisions.slice(0, counted === 'effective' ? effective : orders)
  const mean = used.reduce((sum, one) => sum + (one === 0 ? logOfZero : Math.log(one)), 0) / used.length
  const score = correct.some(count => count > 0) ? brevityPenalty * Math.exp(mean) : 0
  return { score, precisions, brevityPenalty, hypothesisLength, referenceLength, tokenizer }
}

/** BLEU of one text, by the orders it is long enough for. */
export function sentenceBleu(text: Compared, options: Pick<BleuOptions, 'tokenizer'> = {}): Bleu {
  return corpusBleu([text], { ...options, orders: 'effective' })
}

function ngrams(tokens: readonly string[], order: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (let start = 0; start + order <= tokens.length; start++) {
    // Tokens have no spaces, so that the key says where one ends.
    const ngram = tokens.slice(start, start + order).join(' ')
    counts.set(ngram, (counts.get(ngram) ?? 0) + 1)
  }
  return counts
}

function mostOfEach(counts: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const most = new Map<string, number>()
  for (const [ngram, count] of counts.flatMap(one => [...one])) most.set(ngram, Math.max(most.get(ngram) ?? 0, count))
  return most
}

/** Of two that are as close, the shorter one. */
function closestLength(length: number, references: readonly number[]): number {
  return references.reduce((best, one) => {
    const nearer = Math.abs(one - length) - Math.abs(best - length)
    return nearer < 0 || (nearer === 0 && one < best) ? one : best
  })
}

function penalty(hypothesis: number, reference: number): number {
  if (hypothesis >= reference) return 1
  return hypothesis === 0 ? 0 : Math.exp(1 - reference / hypothesis)
}

/** An order that nothing matched counts as half a match, the next such one as a quarter, and so on. */
function smoothed(correct: readonly number[], total: readonly number[]): { precisions: number[]; effective: number } {
  const precisions = new Array<number>(orders).fill(0)
  if (correct.every(count => count === 0)) return { precisions, effective: orders }
  const none = total.indexOf(0)
  const effective = none < 0 ? orders : none
  let share = 1
  for (let n = 0; n < effective; n++) {
    if (correct[n] === 0) share /= 2
    precisions[n] = (100 * (correct[n] === 0 ? share : correct[n]!)) / total[n]!
  }
  return { precisions, effective }
}
