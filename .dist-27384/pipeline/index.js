export { getDefaultConfig, pipelineSchema, resolvePipelineConfig, } from './config.js';
export { createRlhfPipeline, RlhfPipeline, } from './rlhf-pipeline.js';
export { seedNames } from './seed-config.js';
export { optionNames, stageDefaults } from './stage-configs.js';
export { stageNames } from './stages.js';
//# sourceMappingURL=index.js.map