/**
 * Evaluation: how good a model is, and whether it is better than another.
 *
 * @example
 * import { evaluateModel } from 'whetstone/evaluate'
 * const { evaluation } = await evaluateModel({ model: 'models/qwen', data: 'test.jsonl' })
 * console.log(evaluation.model.perplexity?.value)
 */
export { type Bleu, type BleuOptions, type Compared, corpusBleu, sentenceBleu } from './bleu.js';
export { type BleuTokenizer, bleuTokenizerFor, bleuTokenizers } from './bleu-tokenizers.js';
export { type EvaluationResult, evaluateModel } from './evaluate-model.js';
export { type Interval, meanInterval, wilsonInterval } from './intervals.js';
export { type EvaluationMetric, type EvaluationOptions, evaluationMetrics, evaluationSchema, resolveEvaluation, } from './options.js';
export { passAtK } from './pass-at-k.js';
export { plotEvaluation } from './plot.js';
export type { Accuracy, AnswerCounts, AnswerRecord, Evaluation, EvaluationSettings, ModelEvaluation, Perplexity, } from './result.js';
export { meanRougeL, type Rouge, rougeL } from './rouge.js';
export { evaluationTable } from './table.js';
export { type Duel, type WinRate, winRate } from './win-rate.js';
