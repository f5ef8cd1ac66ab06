/** Evaluation: perplexity, rewards, pass@k, win rates, BLEU, ROUGE-L. */
export {
  type BleuOptions,
  corpusBleu,
  type EvaluationOptions,
  type EvaluationResult,
  evaluateModel,
  evaluationTable,
  meanInterval,
  passAtK,
  rougeL,
  sentenceBleu,
  wilsonInterval,
  winRate,
} from './index.js'
