import type { Generator, Outcome, SampleLogprobs, SamplingParams } from '../rollout/index.js';
export interface SampleLines {
    prompts: readonly Int32Array[];
    /** Samples of each. */
    n: number;
    sampling: SamplingParams;
    logprobs: keyof SampleLogprobs;
}
export interface SampleWriter {
    write: (lines: string) => Promise<void>;
    onOutcome: (outcome: Outcome) => void;
    signal: AbortSignal;
}
export declare function writeSamples(generator: Generator, { prompts, n, sampling, logprobs }: SampleLines, { write, onOutcome, signal }: SampleWriter): Promise<void>;
