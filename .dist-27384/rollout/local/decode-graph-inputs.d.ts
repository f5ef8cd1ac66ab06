/**
 * What steps that follow one another on a CUDA device start from, as one array: one copy brings all of it there. Pure.
 *
 * A graph has a fixed number of rows and fixed addresses, so a batch is filled up to one of a few sizes, and each size has its
 * own places in the array.
 */
import { type Part, type SamplingParts } from './graph-inputs.js';
import type { StepBatch } from './step.js';
/** The least number of rows of a graph that has room for so many. */
export declare function bucketFor(rows: number): number;
/** Parts of the array. */
export interface DecodeLayout extends SamplingParts {
    rows: number;
    /** The table's width; one word, filled up. */
    width: Part;
    ids: Part;
    /** For rope, for the cache and for random numbers. */
    positions: Part;
    budgets: Part;
    left: Part;
    /** Goes on to the end of the array. */
    blockTable: number;
}
export declare function decodeLayout(rows: number): DecodeLayout;
/** The words of a table with so many sequences and blocks of each. */
export declare const decodeWords: (layout: DecodeLayout, blockTableWords: number) => number;
/** Padding rows, for a graph that is being captured. */
export declare function emptyDecodeInputs(layout: DecodeLayout): Int32Array;
/** A batch whose every row is the last token of a sequence and draws the next; `budgets` says how many it may draw. */
export declare function fillDecodeInputs(layout: DecodeLayout, batch: StepBatch, budgets: Int32Array): Int32Array;
