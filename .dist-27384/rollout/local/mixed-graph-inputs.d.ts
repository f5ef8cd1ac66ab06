/**
 * What a graph of a step with prompts starts from, as one array: one copy brings all of it to the device. Pure.
 *
 * A step of few rows is launched more slowly than it is computed, unless as a graph. Those have a fixed number of rows, so a
 * batch is filled up to one of a few sizes; and each row reads its sequence's blocks from the cache, also where one kernel
 * could do a whole prompt, because how rows fall into prompts is not fixed.
 */
import { type Part, type SamplingParts } from './graph-inputs.js';
import type { StepBatch } from './step.js';
/** Beyond any of these a step is computed as slowly as it is launched, or has no place. */
export interface MixedLimits {
    rows: number;
    samplingRows: number;
    /** Keys that rows of prompts read, together. */
    keys: number;
    /** Of the likeliest tokens. */
    top: number;
}
/** Parts of the array. */
export interface MixedLayout extends SamplingParts {
    rows: number;
    samplingRows: number;
    /** The table's width; one word, filled up. */
    width: Part;
    ids: Part;
    ropePositions: Part;
    kvPositions: Part;
    sequences: Part;
    slotMapping: Part;
    /** The row of each samplingRow. */
    wanted: Part;
    samplingPositions: Part;
    /** Goes on to the end of the array. */
    blockTable: number;
}
/** The layout of the least graph with room for a batch; undefined where the batch is not one for graphs. */
export declare function mixedLayoutFor(batch: StepBatch, limits: MixedLimits): MixedLayout | undefined;
export declare function mixedLayout(rows: number, samplingRows: number): MixedLayout;
/** The words of the longest array there can be. */
export declare const mixedWords: ({ samplingRows }: MixedLimits, blockTableWords: number) => number;
/** Padding rows, for a graph that is being captured. */
export declare function emptyMixed(layout: MixedLayout): Int32Array;
export declare function fillMixed(layout: MixedLayout, batch: StepBatch): Int32Array;
