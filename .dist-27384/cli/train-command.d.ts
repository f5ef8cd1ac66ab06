import { z } from 'zod';
import { type Report } from '../progress/index.js';
import { type ConfigLayer, type IdleRule, type JobOptions, type JobResult, type ResolvedConfig } from '../train/index.js';
import type { Verb } from './verbs.js';
/** One kind of training, as a command sees it. */
export interface Training<C> {
    /** What is typed behind `whetstone`. */
    readonly verb: string;
    /** What it does, for the help. */
    readonly about: string;
    /** The shortest config. */
    readonly example: string;
    readonly schema: z.ZodObject;
    readonly resolve: (layers: readonly ConfigLayer[]) => ResolvedConfig<C> & {
        readonly notes?: readonly string[];
    };
    /** When its options have no effect. */
    readonly idle: readonly IdleRule<C>[];
    readonly run: (job: JobOptions<C>) => Promise<JobResult>;
    /** What to do with the model in a directory: commands and their like, a line each. */
    readonly next: (model: string) => readonly string[];
}
export declare function trainCommand<C extends {
    readonly output: string;
}>(training: Training<C>): Verb;
/** An error about an option says which file, or which part of the command line, gave it. */
export declare function attributed<T>(origins: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T>;
/** A dry run for another machine is refused, and still says what the models take there. */
export declare function showMachine(error: unknown, report: Report): never;
/** The command that goes on, to be typed as it is. */
export declare function resumeLine(verb: string, args: readonly string[]): string;
