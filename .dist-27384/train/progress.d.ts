/** How a training says how it goes: one live line, notes that stay, a table at the end. */
import type { Report } from '../progress/index.js';
export interface ProgressOptions {
    /** What is being done: `sft`, `rl`. */
    readonly label: string;
    readonly totalSteps: number;
    /** Names of the metrics on the line, in their order; one that has no value yet is left out. */
    readonly shown: readonly string[];
    /** Milliseconds, for the time that is left. */
    readonly now?: () => number;
}
/** What a metric was at first and at last, and the best it was, where one value is better than another. */
export interface MetricSummary {
    readonly first: number;
    readonly last: number;
    readonly best?: number;
}
export interface TrainProgress {
    /** The metrics of a step that is done. Those that are not measured at every step keep their last value on the line. */
    step(step: number, values: Readonly<Record<string, number>>): void;
    /** A line that stays. */
    note(text: string): void;
    /** What is being done within the step: `generating`, `first step: making CUDA graphs`. */
    stage(text: string): void;
    /** Takes the line away and shows a table of metrics by name. */
    end(summary: Readonly<Record<string, MetricSummary>>): void;
}
/** What some metrics were at first, at last, and at best, over the steps added. */
export declare class MetricSummaries {
    #private;
    /** Those to keep, in the order of the table, each with which value is better. */
    constructor(names: Readonly<Record<string, 'higher' | 'lower' | 'neither'>>);
    add(values: Readonly<Record<string, number>>): void;
    get all(): Readonly<Record<string, MetricSummary>>;
}
/**
 * Shows a training's steps through a command's report: a line in place on a terminal, whole lines from time to time in a log.
 *
 * @example
 * const progress = trainProgress(reportFor(process.env), { label: 'sft', totalSteps: 100, shown: ['loss/train'] })
 * progress.step(1, { 'loss/train': 2.3 })
 * progress.end({ 'loss/train': { first: 2.3, last: 0.4 } })
 */
export declare function trainProgress(report: Report, options: ProgressOptions): TrainProgress;
/** `8 s`, `3 min`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export declare function duration(seconds: number): string;
/** A header and a row for each metric that says what came of a training; the column of best values is there where one has it. Empty where there is no metric. */
export declare function summaryTable(summary: Readonly<Record<string, MetricSummary>>): string[];
