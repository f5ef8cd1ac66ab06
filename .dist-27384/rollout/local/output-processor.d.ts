/** What steps found goes to the samples that wait for it: their tokens and text, and their outcomes when they end. */
import type { PolicyVersion } from '../../model/index.js';
import type { Tokenizer } from '../../text/index.js';
import type { SamplingRow } from './build-batch.js';
import { type Refusal } from './input-processor.js';
import type { PromptPrefix, SequenceState } from './request-state.js';
import type { StepResult } from './step.js';
/** What a row of a step's results is about. */
export interface SampledRow {
    samplingRow: SamplingRow;
    of: SequenceState | PromptPrefix;
}
export declare class OutputProcessor {
    private readonly tokenizer;
    /** A sample is over, before anyone hears of it. */
    private readonly onEnd;
    constructor(tokenizer: Tokenizer | undefined, 
    /** A sample is over, before anyone hears of it. */
    onEnd: (sample: SequenceState) => void);
    /**
     * Gives the results of a step, from `first` on, to those they are about, and ends those that are done; what comes after an
     * end is dropped. Answers with the number of tokens that were taken.
     */
    take(rows: readonly SampledRow[], result: StepResult, first: number, version: PolicyVersion): Promise<number>;
    /** Gives a new token to its sample's text; a promise where that takes time. */
    private read;
    /** What a new token means for its sample. */
    private settle;
    /** `version`: of a sample that has no token to name one. */
    finish(sample: SequenceState, reason: 'stop' | 'length' | 'abort', stopReason: string | number | undefined, version: PolicyVersion): Promise<void>;
    reject(sample: SequenceState, refusal: Refusal): void;
    fail(sample: SequenceState, reason: 'non-finite' | 'engine', message: string): void;
}
