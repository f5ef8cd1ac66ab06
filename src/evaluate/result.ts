/** What an evaluation found. Plain JSON but for what is undefined. */
import type { RewardSummary } from '../reward/index.js'
import type { ChatMessage } from '../text/index.js'
import type { Bleu } from './bleu.js'
import type { Interval } from './intervals.js'
import type { EvaluationMetric } from './options.js'
import type { Rouge } from './rouge.js'
import type { WinRate } from './win-rate.js'

export interface Evaluation {
  readonly model: ModelEvaluation
  readonly reference?: ModelEvaluation
  /** Of the model over the reference. */
  readonly winRate?: WinRate
  /** What could not be measured, and why. */
  readonly leftOut: Readonly<Partial<Record<EvaluationMetric, string>>>
  readonly settings: EvaluationSettings
}

interface EvaluationSettings {
  readonly data: readonly string[]
  readonly reward?: string
  readonly samples: number
  readonly temperature: number
  readonly maxNewTokens: number
  readonly seed: number
}

export interface ModelEvaluation {
  readonly directory: string
  readonly perplexity?: Perplexity
  readonly answers?: AnswerCounts
  /** Failures are counted in it, and are no rewards. */
  readonly rewards?: RewardSummary
  readonly accuracy?: Accuracy
  /** Over all answers to prompts with a target. */
  readonly bleu?: Bleu & { readonly texts: number }
  readonly rougeL?: Rouge & { readonly texts: number }
}

export interface Perplexity {
  /** Of the assistant's tokens: the exponential of their mean negative log-probability. */
  readonly value: number
  readonly loss: number
  readonly rows: number
  /** Rows that were longer than the context, and were cut. */
  readonly truncated: number
}

export interface AnswerCounts {
  readonly prompts: number
  /** Answers there are. */
  readonly answered: number
  /** Answers there are not, by reason. */
  readonly unanswered: Readonly<Record<string, number>>
  /** Prompts that were left out for their length, which are not in `prompts`. */
  readonly overlong: number
  /** Tokens of an answer. */
  readonly meanTokens: number | undefined
  /** Share of the answers that ended because they were too long. */
  readonly truncatedShare: number | undefined
  /** Where answers are episodes: turns and tool calls of one. */
  readonly meanTurns?: number
  readonly meanCalls?: number
}

export interface Accuracy {
  /** The mean over prompts of the share of their answers that are right; undefined where no answer has a reward. */
  readonly value: number | undefined
  /** Wilson's, at 95 %, over prompts. */
  readonly interval: Interval | undefined
  /** Rewards from here on are right answers. */
  readonly correctAt: number
  readonly prompts: number
  /** Prompts none of whose answers has a reward. */
  readonly missing: number
  /** By k, over the prompts with at least k answers that have a reward. */
  readonly passAt: readonly { readonly k: number; readonly value: number; readonly prompts: number }[]
}

/** One answer and what came of it. */
export interface AnswerRecord {
  readonly promptId: string
  readonly sample: number
  readonly prompt: string
  readonly response: string
  readonly targets: readonly string[]
  readonly tokens: number
  readonly finishReason: string
  /** The conversation of an episode. */
  readonly messages?: readonly ChatMessage[]
  /** Undefined where there is no reward, or it failed. */
  readonly reward?: number
  readonly failure?: { readonly reason: string; readonly message: string; readonly source: string }
}
