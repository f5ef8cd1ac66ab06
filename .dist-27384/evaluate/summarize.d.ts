/** From answers and their rewards to numbers. Pure. */
import { type RewardInput, type RewardOutcome } from '../reward/index.js';
import type { BleuTokenizer } from './bleu-tokenizers.js';
import type { EvaluationMetric } from './options.js';
import type { EvaluationPrompt } from './prompts.js';
import type { Accuracy, AnswerCounts, AnswerRecord, ModelEvaluation } from './result.js';
/** The answers to one prompt. */
export interface AnsweredPrompt {
    readonly prompt: EvaluationPrompt;
    readonly answers: readonly {
        readonly input: RewardInput;
        /** Undefined where no reward was asked for. */
        readonly outcome: RewardOutcome | undefined;
    }[];
}
export interface SummaryOptions {
    readonly measured: ReadonlySet<EvaluationMetric>;
    readonly samples: number;
    readonly correctAt: number;
    readonly bleuTokenizer: BleuTokenizer | 'auto';
}
export declare function summarizeAnswers(answered: readonly AnsweredPrompt[], { measured, samples, correctAt, bleuTokenizer: tokenizer }: SummaryOptions): Pick<ModelEvaluation, 'rewards' | 'accuracy' | 'bleu' | 'rougeL'>;
/** The rewards there are: one that failed is none. */
export declare function rewardsOf({ answers }: AnsweredPrompt): number[];
export declare function accuracyOf(rewards: readonly (readonly number[])[], { samples, correctAt }: {
    samples: number;
    correctAt: number;
}): Accuracy;
export declare function countAnswers(answered: readonly AnsweredPrompt[], rest: Pick<AnswerCounts, 'unanswered' | 'overlong'>): AnswerCounts;
export declare function answerRecords(answered: readonly AnsweredPrompt[]): AnswerRecord[];
