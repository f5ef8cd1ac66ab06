/**
 * Evaluation: how good a model is, and whether it is better than another.
 *
 * @example
 * import { evaluateModel } from 'whetstone/evaluate'
 * const { evaluation } = await evaluateModel({ model: 'models/qwen', data: 'test.jsonl' })
 * console.log(evaluation.model.perplexity?.value)
 */
export { type BleuOptions, corpusBleu, sentenceBleu } from './bleu.js'
export { bleuTokenizers } from './bleu-tokenizers.js'
export { type EvaluationResult, evaluateModel } from './evaluate-model.js'
export { meanInterval, wilsonInterval } from './intervals.js'
export { type EvaluationMetric, type EvaluationOptions, evaluationMetrics, resolveEvaluation } from './options.js'
export { passAtK } from './pass-at-k.js'
export { plotEvaluation } from './plot.js'
export type { AnswerRecord } from './result.js'
export { meanRougeL, rougeL } from './rouge.js'
export { evaluationTable } from './table.js'
export { winRate } from './win-rate.js'
