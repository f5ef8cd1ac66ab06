export { attention, type Rows, rowsOf, rowTensors, shortLength } from './attention.js'
export {
  type AdapterLookup,
  type AdapterPlace,
  composeLayerOps,
  joinColumns,
  type LowRank,
  normColumns,
  type PlainOps,
} from './composed-ops.js'
export {
  architectureName,
  type DecoderConfig,
  type HeadLayout,
  type ModelConfig,
  parseConfig,
  readConfig,
} from './config.js'
export { type DeferredParts, deferredLayerOps } from './deferred-ops.js'
export { ModelError } from './errors.js'
export { type Family, families, familyOf } from './families/index.js'
export {
  type Columns,
  type Junction,
  type LayerOps,
  type LayerState,
  type LinearMap,
  runLayers,
  type WantedRows,
} from './layer.js'
export { LayerRopeTables, type RopeTables, ropeTables } from './rope.js'
export { type DecoderParts, decode, headWeight } from './training-ops.js'
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
