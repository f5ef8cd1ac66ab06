export { families, parseConfig, projections, readConfig, } from '../decoder/index.js';
export { Adapter, inspectAdapter } from './adapter.js';
export { ModelError, NonFiniteError } from './errors.js';
export { tokenizerFiles } from './export.js';
export { planHead } from './head.js';
export { initModel, newConfig, sizes, } from './init.js';
export { inspectModel } from './loading.js';
export { LocalModel } from './local-model.js';
export { MergedWeights } from './merged-weights.js';
export { modelFiles } from './model-files.js';
export { idsOf, mediaOf } from './sequence.js';
export { stateDtype } from './state.js';
export { checkStepOptions } from './training.js';
//# sourceMappingURL=index.js.map