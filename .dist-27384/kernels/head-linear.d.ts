/**
 * Logits and what a token is drawn from as a CUDA kernel for Hopper (head-linear.cu): the sums that sample.ts would read the
 * logits for once more. Padding rows have none.
 */
import { type CudaDevice, type Tensor } from '../tensor/index.js';
import { type SampleRows } from './sample.js';
export type HeadLinear = (x: Tensor, weight: Tensor, rows: Pick<SampleRows, 'count' | 'positions' | 'settings' | 'forbiddenOffsets' | 'forbidden'>) => {
    logits: Tensor;
    sums: Tensor;
};
/** Whether there are so many rows that they fill its tiles, of a kind that the kernel takes: then it is the faster one. */
export declare function headLinearFits(rows: number, { hidden, vocabSize }: {
    hidden: number;
    vocabSize: number;
}, dtype: string, { capability }: Pick<CudaDevice, 'capability'>): boolean;
export declare function headLinearKernel(multiprocessors: number): HeadLinear;
