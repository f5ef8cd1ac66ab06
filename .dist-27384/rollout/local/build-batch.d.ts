import type { CachedSequence } from './cached-sequence.js';
import type { Plan } from './scheduler.js';
import { type StepBatch } from './step.js';
/** What is drawn after a row. */
export interface SamplingRow {
    /** The row's place among the tokens of its sequence. */
    position: number;
    /** Of the random number that is drawn. */
    counter: number;
    temperature: number;
    topK: number;
    topP: number;
    minP: number;
    key: readonly [number, number];
    /** -1: draw a token. Otherwise its log-probability is wanted. */
    targetId: number;
    /** Ids that cannot be drawn, ascending. */
    forbidden: Int32Array;
    /** -1: neither rank nor alternatives. */
    top: number;
}
export interface BatchSource<S extends CachedSequence> {
    /** Writes the tokens of this work at `at`, and how far rope turns each. */
    tokens(work: Plan<S>['scheduled'][number], into: Int32Array, at: number): void;
    ropePositions(work: Plan<S>['scheduled'][number], into: Int32Array, at: number): void;
    /** The samplingRows after rows of this work, in the order of their positions. */
    samplingRows(work: Plan<S>['scheduled'][number]): readonly SamplingRow[];
}
export declare function buildBatch<S extends CachedSequence>(plan: Plan<S>, source: BatchSource<S>): StepBatch;
