/** CUDA kernels and what stands for them elsewhere: the pieces that models and engines are made of. */
export { deferredOps } from './deferred-norm.js';
export { deferredNormComposed } from './deferred-norm-composed.js';
export { deferredOpsFor } from './deferred-norm-kernels.js';
export { fusedOps } from './fused-ops.js';
export { gatedLinearFits, gatedLinearKernel } from './gated-linear.js';
export { headLinearFits, headLinearKernel } from './head-linear.js';
export { memoized } from './memoized.js';
export { decodeAttentionKernel, pagedAttentionFits, pagedRopeKernel, planAttention, } from './paged-attention.js';
export { sampleKernel, samplePlanes } from './sample.js';
export { skinnyGemmFits, skinnyGemmKernels } from './skinny-gemm.js';
export { planSplit, splitKLinearExists, splitKLinearKernel } from './split-k-linear.js';
//# sourceMappingURL=index.js.map