/** From answers and their rewards to numbers. Pure. */
import { type RewardInput, type RewardOutcome, summarizeRewards } from '../reward/index.js'
import { trainedCount } from '../sequence/index.js'
import { corpusBleu } from './bleu.js'
import type { BleuTokenizer } from './bleu-tokenizers.js'
import { meanInterval } from './intervals.js'
import type { EvaluationMetric } from './options.js'
import { passAtK, passCounts } from './pass-at-k.js'
import type { EvaluationPrompt } from './prompts.js'
import type { Accuracy, AnswerCounts, AnswerRecord, ModelEvaluation } from './result.js'
import { meanRougeL } from './rouge.js'

/** The answers to one prompt. */
export interface AnsweredPrompt {
  readonly prompt: EvaluationPrompt
  readonly answers: readonly {
    readonly input: RewardInput
    /** Undefined where no reward was asked for. */
    readonly outcome: RewardOutcome | undefined
  }[]
}

interface SummaryOptions {
  readonly measured: ReadonlySet<EvaluationMetric>
  readonly samples: number
  readonly correctAt: number
  readonly bleuTokenizer: BleuTokenizer | 'auto'
}

export function summarizeAnswers(
  answered: readonly AnsweredPrompt[],
  { measured, samples, correctAt, bleuTokenizer: tokenizer }: SummaryOptions,
): Pick<ModelEvaluation, 'rewards' | 'accuracy' | 'bleu' | 'rougeL'> {
  const outcomes = answered.flatMap(({ answers }) => answers.flatMap(({ outcome }) => outcome ?? []))
  const compared = answered.flatMap(({ prompt: { targets }, answers }) =>
    targets.length === 0 ? [] : answers.map(({ input }) => ({ hypothesis: input.response, references: targets })),
  )
  const texts = compared.length
  return {
    ...(measured.has('reward') ? { rewards: summarizeRewards(outcomes) } : {}),
    ...(measured.has('accuracy') ? { accuracy: accuracyOf(answered.map(rewardsOf), { samples, correctAt }) } : {}),
    ...(measured.has('bleu') && texts > 0 ? { bleu: { ...corpusBleu(compared, { tokenizer }), texts } } : {}),
    ...(measured.has('rougeL') && texts > 0 ? { rougeL: { ...meanRougeL(compared), texts } } : {}),
  }
}

/** The rewards without failed ones. */
export function rewardsOf({ answers }: AnsweredPrompt): number[] {
  return answers.flatMap(({ outcome }) => (outcome?.kind === 'scored' ? [outcome.reward] : []))
}

function accuracyOf(
  rewards: readonly (readonly number[])[],
  { samples, correctAt }: { samples: number; correctAt: number },
): Accuracy {
  const scored = rewards.filter(list => list.length > 0)
  const counts = scored.map(list => ({ total: list.length, correct: list.filter(one => one >= correctAt).length }))
  const passAt = passCounts(samples).flatMap(k => {
    const enough = counts.filter(({ total }) => total >= k)
    const value = mean(enough.map(one => passAtK({ ...one, k })))
    return value === undefined ? [] : [{ k, value, prompts: enough.length }]
  })
  const shares = counts.map(({ correct, total }) => correct / total)
  const found = shares.length === 0 ? undefined : meanInterval(shares)
  return {
    value: found?.mean,
    interval: found?.interval,
    correctAt,
    prompts: scored.length,
    missing: rewards.length - scored.length,
    passAt,
  }
}

export function countAnswers(
  answered: readonly AnsweredPrompt[],
  rest: Pick<AnswerCounts, 'unanswered' | 'overlong'>,
): AnswerCounts {
  const inputs = answered.flatMap(({ answers }) => answers.map(({ input }) => input))
  return {
    prompts: answered.length,
    answered: inputs.length,
    ...rest,
    meanTokens: mean(inputs.map(({ sequence }) => trainedCount(sequence))),
    truncatedShare: mean(inputs.map(({ finishReason }) => (finishReason === 'length' ? 1 : 0))),
    ...episodeCounts(inputs),
  }
}

function episodeCounts(inputs: readonly RewardInput[]): Pick<AnswerCounts, 'meanTurns' | 'meanCalls'> {
  const meanTurns = mean(inputs.flatMap(({ turns }) => (turns ? [turns.length] : [])))
  const meanCalls = mean(inputs.flatMap(({ turns = [] }) => turns.reduce((sum, { calls }) => sum + calls.length, 0)))
  return meanTurns === undefined ? {} : { meanTurns, meanCalls: meanCalls! }
}

export function answerRecords(answered: readonly AnsweredPrompt[]): AnswerRecord[] {
  return answered.flatMap(({ prompt: { promptId, targets }, answers }) =>
    answers.map(({ input, outcome }) => ({
      promptId,
      sample: input.sample,
      prompt: input.prompt,
      response: input.response,
      targets,
      tokens: trainedCount(input.sequence),
      finishReason: input.finishReason,
      ...(input.turns && input.messages ? { messages: input.messages } : {}),
      ...(outcome?.kind === 'scored' ? { reward: outcome.reward } : {}),
      ...(outcome?.kind === 'failed'
        ? { failure: { reason: outcome.reason, message: outcome.message, source: outcome.source } }
        : {}),
    })),
  )
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}
