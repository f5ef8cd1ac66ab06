export { attention, rowsOf, rowTensors, shortLength } from './attention.js';
export { composeLayerOps, joinColumns, normColumns, } from './composed-ops.js';
export { architectureName, parseConfig, readConfig, } from './config.js';
export { deferredLayerOps } from './deferred-ops.js';
export { ModelError } from './errors.js';
export { families, familyOf } from './families/index.js';
export { runLayers, } from './layer.js';
export { LayerRopeTables, ropeTables } from './rope.js';
export { decode, headWeight } from './training-ops.js';
export { checkpointViews, parameterCount, projectionPath, projectionShape, projections, weightMap, } from './weight-map.js';
//# sourceMappingURL=index.js.map