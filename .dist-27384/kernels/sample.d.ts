/** The next token of each row of logits as CUDA kernels (sample.cu). The CPU's own is `whetstone::sample`. */
import { type NumberLike, type Tensor } from '../tensor/index.js';
import type { HalfDType } from './paged-attention.js';
/** int32, one entry for each row, unless said otherwise. */
export interface SampleRows {
    count: NumberLike;
    /** What the random number is drawn for; -1: a padding row. */
    positions: Tensor;
    /** float32 `[rows, 4]`: temperature, topK, topP, minP. */
    settings: Tensor;
    /** `[rows, 2]`: the stream's key. */
    keys: Tensor;
    /** The token whose log-probability is wanted; -1 draws one. */
    targetIds: Tensor;
    /** `[rows + 1]`, and the ids they point into: tokens that cannot be drawn, ascending for each row. */
    forbiddenOffsets: Tensor;
    forbidden: Tensor;
}
/** Steps that follow one another on the device: each makes the input of the next. int32, one entry for each row. */
export interface SampleSteps {
    ids: Tensor;
    budgets: Tensor;
    left: Tensor;
}
export interface SampleOptions {
    /** Whether a row has topK, topP or minP. */
    filtered: boolean;
    steps: SampleSteps | undefined;
    /** How many of the likeliest tokens are wanted; -1: not even the drawn one's rank. */
    top: number;
}
/** Words of a row's result. */
export declare const samplePlanes: (top: number) => number;
/** Room for what is known of each chunk of the rows' logits without them, float32 `[rows, chunks, 4]` (sums.cuh). */
export declare function logitSums(logits: Tensor, rows: NumberLike, vocabSize: number): Tensor;
export declare function sampleKernel(dtype: HalfDType, vocabSize: number): (logits: Tensor, rows: SampleRows, results: Tensor, options: SampleOptions & {
    known?: Tensor;
}) => void;
