import { type Generator, type SampleLogprobs } from '../../rollout/index.js';
import type { RlConfig } from './config.js';
/**
 * Of the distribution that was sampled from. Raw ones are the same at temperature 1 and without filters, but for tokens that were
 * drawn otherwise on purpose (`alteredTokens`), which nobody compares.
 */
export declare function comparableLogprobs({ processed, raw }: SampleLogprobs, temperature: number): Float32Array | undefined;
/** Importance weights of two meanings of "probability" would be noise: such a run does not start. */
export declare function checkImportance(config: RlConfig, generator: Pick<Generator, 'capabilities' | 'vocabSize'>): void;
