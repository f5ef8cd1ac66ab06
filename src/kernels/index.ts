/** CUDA kernels and what stands for them elsewhere: the pieces that models and engines are made of. */
export { type DeferredNorm, type DeferredOps, type DeferredOpsBySize, deferredOps } from './deferred-norm.js'
export { deferredNormComposed } from './deferred-norm-composed.js'
export { deferredOpsFor } from './deferred-norm-kernels.js'
export { type FusedOps, fusedOps, type LogprobOps } from './fused-ops.js'
export { type GatedLinear, gatedLinearFits, gatedLinearKernel } from './gated-linear.js'
export { type HeadLinear, headLinearFits, headLinearKernel } from './head-linear.js'
export { memoized } from './memoized.js'
export {
  type AttentionPlan,
  decodeAttentionKernel,
  type HalfDType,
  type PagedCache,
  type PagedRows,
  pagedAttentionFits,
  pagedRopeKernel,
  planAttention,
} from './paged-attention.js'
export { type SampleOptions, type SampleRows, sampleKernel, samplePlanes } from './sample.js'
export { type DeferredRmsNorm, type SkinnyGemm, skinnyGemmFits, skinnyGemmKernels } from './skinny-gemm.js'
export { planSplit, splitKLinearExists, splitKLinearKernel } from './split-k-linear.js'
