export { Adapter, type AdapterOptions } from './adapter.js'
export {
  type DecoderConfig,
  type Family,
  families,
  type HeadLayout,
  type ModelConfig,
  parseConfig,
  readConfig,
} from './config.js'
export { ModelError, NonFiniteError } from './errors.js'
export {
  type InitModelOptions,
  initModel,
  type ModelShape,
  newConfig,
  type Size,
  sizes,
  type TokenRoles,
} from './init.js'
export { type Projection, projections } from './layout.js'
export {
  type Gradients,
  type LoadOptions,
  type OptimizerOptions,
  type Outputs,
  type Role,
  type ScoreOptions,
  type Sequence,
  TokenModel,
  type TrainOptions,
} from './token-model.js'
export type { LoadProgress } from './weights.js'
