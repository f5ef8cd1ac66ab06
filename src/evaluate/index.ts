/**
 * Evaluation: how good a model is, and whether it is better than another.
 *
 * @example
 * import { corpusBleu } from 'whetstone/evaluate'
 * const { score } = corpusBleu([{ hypothesis: 'The cat sat.', references: ['The cat sat down.'] }])
 */
export { type Bleu, type BleuOptions, type Compared, corpusBleu, sentenceBleu } from './bleu.js'
export { type BleuTokenizer, bleuTokenizers } from './bleu-tokenizers.js'
export { type Interval, wilsonInterval } from './intervals.js'
export { passAtK } from './pass-at-k.js'
export { meanRougeL, type Rouge, rougeL } from './rouge.js'
export { type Duel, type WinRate, winRate } from './win-rate.js'
