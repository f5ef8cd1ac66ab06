import type { FusedDType, LogprobOps } from './fused-ops.js';
export declare function logprobKernel(dtype: FusedDType, vocabSize: number): LogprobOps;
