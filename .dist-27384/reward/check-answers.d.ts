import type { SourceOutcome } from './outcome.js';
/** Turns whatever a source returned into one outcome per sample; nothing that is not a finite number becomes a reward. */
export declare function checkAnswers(source: string, count: number, answers: unknown): SourceOutcome[];
