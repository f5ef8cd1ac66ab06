export { type Rows, rowsOf, shortLength } from './attention.js'
export { composeLayerOps, joinColumns, type LowRank, normColumns, type PlainOps } from './composed-ops.js'
export * from './config.js'
export { deferredLayerOps } from './deferred-ops.js'
export { ModelError } from './errors.js'
export { type Family, families, familyOf, type TextFamily } from './families/index.js'
export { type Columns, type LayerOps, runLayers } from './layer.js'
export { LayerRopeTables, ropeTables } from './rope.js'
export { type DecoderParts, decode, headWeight } from './training-ops.js'
export {
  cutPatches,
  cutPatchesOnCpu,
  fieldOf,
  type Grid,
  type MediaRows,
  mixedRotations,
  type PatchPlaces,
  patchesOf,
  ropeColumns,
  runBlocks,
  type SegmentGroups,
  type Segments,
  type Tower,
  type TowerLayout,
  tokensOf,
  towerLayout,
  type VisionConfig,
} from './vision/index.js'
export {
  checkpointName,
  checkpointViews,
  isMergerWeight,
  isVisionWeight,
  type Projection,
  parameterCount,
  projectionOf,
  projectionPath,
  projectionShape,
  projections,
  type Weight,
  weightMap,
} from './weight-map.js'
