export { attention, type Rows, rowsOf, rowTensors, shortLength } from './attention.js'
export {
  architectureName,
  type DecoderConfig,
  type Family,
  families,
  type HeadLayout,
  type ModelConfig,
  parseConfig,
  readConfig,
} from './config.js'
export { type DecoderParts, decode, headWeight, type LowRank } from './decoder.js'
export { ModelError } from './errors.js'
export { ropeTables } from './rope.js'
export {
  checkpointViews,
  type Projection,
  parameterCount,
  projectionPath,
  projectionShape,
  projections,
  type Weight,
  weightMap,
} from './weight-map.js'
