export { resolveRlConfig, rlPaths, rlSchema, rlShape, rlWords, } from './config.js';
export { rlIdle } from './idle-options.js';
export { prepareRl, runRl } from './job.js';
export { trainRl } from './loop.js';
export { algorithms, presets } from './presets.js';
export { replayRl } from './replay.js';
export { planRl } from './training-plan.js';
//# sourceMappingURL=index.js.map