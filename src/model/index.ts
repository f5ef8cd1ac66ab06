export {
  type DecoderConfig,
  type Family,
  families,
  type HeadLayout,
  type ModelConfig,
  type Projection,
  parseConfig,
  projections,
  readConfig,
  type TextFamily,
} from '../decoder/index.js'
export type { MediaPositions } from '../media/index.js'
export { Adapter, inspectAdapter } from './adapter.js'
export type { AdapterOptions } from './adapter-config.js'
export { planBatches } from './batch.js'
export { leastShared } from './batch-runner.js'
export { ModelError, NonFiniteError } from './errors.js'
export { copyTokenizer } from './export.js'
export { planHead } from './head.js'
export * from './init.js'
export { type FreezeVision, inspectModel, type LoadOptions, type OptimizerOptions } from './loading.js'
export { LocalModel } from './local-model.js'
export type { MastersKind } from './masters.js'
export { distinctPixels, firstRows, mediaProblem, placeholders, positionsOf } from './media.js'
export { MergedWeights } from './merged-weights.js'
export { modelFiles } from './model-files.js'
export type { ModelInput } from './model-input.js'
export * from './multimodal-processor.js'
export type { Gradients, Outputs, Role, ScoreOptions, TrainOptions } from './outputs.js'
export type { Invitation, Replicas } from './replicas.js'
export { stateDtype } from './state.js'
export type * from './token-model.js'
export { Accumulation, checkStepOptions, type ReplicaTrainOptions, Turns } from './training.js'
export type { VisionFeatures } from './vision-features.js'
export type { LoadProgress } from './weights.js'
