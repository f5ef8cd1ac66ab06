import type { GenerationAnswer, GenerationAttempt, Refusal, ServerFacts } from '../remote/dialect.js';
export declare function readAnswer(body: unknown, attempt: GenerationAttempt): GenerationAnswer;
/**
 * Reads events one after another. Ids and log-probabilities of an event are all there are so far, or with
 * `--incremental-streaming-output` those that came.
 */
export declare function eventReader(attempt: GenerationAttempt, facts: ServerFacts): (event: string) => GenerationAnswer | undefined;
export declare function refusalOf(status: number, text: string, retryAfter: string | undefined): Refusal;
