/** AdamW of 16-bit parameters as a CUDA kernel (adamw.cu): half the memory traffic of casting, scaling, updating and casting back. */
import type { NumberLike } from './call.js';
import type { Tensor } from './tensor.js';
/** Elements of `changed`. */
export declare const COUNTERS = 1024;
export interface AdamwParameter {
    parameter: Tensor;
    /** float32: what is really trained. */
    copy: Tensor;
    first: Tensor;
    second: Tensor;
    /** Updates so far, this one included; a float32 scalar on the device. */
    step: Tensor;
    gradient: Tensor;
    /** `COUNTERS` int64 on the device: the number of parameters that change is added to them, spread over all. */
    changed: Tensor;
}
/** Numbers of a recorded program. The logarithms keep digits that float32 betas near 1 lose. */
export declare const rateNames: readonly ['lr', 'beta1', 'beta2', 'logBeta1', 'logBeta2', 'eps', 'weightDecay'];
export type RecordedRates = Record<(typeof rateNames)[number], NumberLike>;
/** Launches the update of one parameter. */
export declare function adamwStep(given: AdamwParameter, scale: NumberLike, rates: RecordedRates): void;
