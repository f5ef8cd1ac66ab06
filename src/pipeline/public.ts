/** SFT, a reward model and PPO, one after another. */
export {
  createRlhfPipeline,
  getDefaultConfig,
  type PipelineConfig,
  type PipelineExtensions,
  type PipelineOptions,
  type PipelineResult,
  RlhfPipeline,
  type StageName,
  type StageResult,
} from './index.js'
