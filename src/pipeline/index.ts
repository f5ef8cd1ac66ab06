/**
 * The RLHF pipeline: supervised fine-tuning, a reward model, PPO, each on what the one before made.
 *
 * @example
 * const pipeline = await createRlhfPipeline('rlhf.yaml')
 * const { outcome, model } = await pipeline.runFullPipeline()
 */
export {
  getDefaultConfig,
  type PipelineConfig,
  type PipelineOptions,
  pipelineReading,
  pipelineSchema,
  resolvePipelineConfig,
} from './config.js'
export type { PipelineExtensions } from './extensions.js'
export * from './rlhf-pipeline.js'
export { seedNames } from './seed-config.js'
export { optionNames, stageDefaults } from './stage-configs.js'
export type { StageResult } from './stage-runner.js'
export { type StageName, stageNames } from './stages.js'
