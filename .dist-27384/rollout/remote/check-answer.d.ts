import type { GenerationAnswer, GenerationAttempt } from './dialect.js';
export interface AnswerLimits {
    readonly vocabSize: number;
    /** Tokens of this attempt that came before, in other events. */
    readonly before: number;
}
/** Refuses an answer that cannot be right: it must never become a sample. Whose fault it is cannot be known, only that it is wrong. */
export declare function checkAnswer(answer: GenerationAnswer, attempt: GenerationAttempt, limits: AnswerLimits): void;
