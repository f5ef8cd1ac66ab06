/**
 * The rewards of a file, each call of which goes to a process of the file: copies go in, results come out. A process that ends is
 * started again; what it had is a failure, and what it had not got to is asked of the next.
 */
import type { Tokenizer } from '../../text/index.js';
import type { RewardEngineOptions } from '../engine-options.js';
import { type RewardSource } from '../source.js';
import type { FileDescription } from './messages.js';
export interface RewardFileOptions {
    /** Directory of the policy's tokenizer. */
    readonly tokenizer?: string | undefined;
    /** How many processes. Default 1. */
    readonly workers?: number | undefined;
    /** How long the file may take to load. Default 10. */
    readonly patienceMinutes?: number | undefined;
    readonly signal?: AbortSignal | undefined;
}
/** Of the options that rewards are loaded with, those for files. */
export declare function fileOptionsOf(options: Omit<RewardFileOptions, 'tokenizer'> & {
    tokenizer?: Tokenizer;
}): RewardFileOptions;
/** What an engine is made of, from a module. Closing any of its sources ends the processes. */
export declare function openRewardFile(file: string, options?: RewardFileOptions): Promise<{
    form: FileDescription['form'];
    options: RewardEngineOptions & {
        sources: readonly RewardSource[];
    };
}>;
