/**
 * Whetstone: language models trained by rewards and preferences. Every task is a function; the parts have subpaths of their own,
 * such as `whetstone/model`.
 *
 * @example
 * import { grpo } from 'whetstone'
 * const rows = [{ prompt: 'What is 2 + 2?', answer: '4' }]
 * const { models } = await grpo({ model: 'model', data: rows, rewards: ({ response, row }) => (response === row.answer ? 1 : 0) })
 */
export {
  type Data,
  type Downloaded,
  type DownloadOptions,
  type DpoOptions,
  download,
  dpo,
  type EvaluateOptions,
  type ExperienceOptions,
  type ExportDirectoryOptions,
  type ExportedModel,
  type ExportGgufOptions,
  evaluate,
  experience,
  exportModel,
  type GeneratedSample,
  type GenerateOptions,
  type GeneratePrompt,
  generate,
  grpo,
  type ImportModelOptions,
  importModel,
  type Model,
  type PushOptions,
  pipeline,
  ppo,
  push,
  type Replayed,
  type ReplayOptions,
  type RewardFunction,
  type RewardModelOptions,
  type Rewards,
  type RlOptions,
  type Rows,
  type RunEvent,
  type RunOptions,
  replay,
  rewardModel,
  rl,
  type Scored,
  type ScoreRow,
  type ScoreRowsOptions,
  type ServeOptions,
  type Serving,
  type SftOptions,
  score,
  serve,
  sft,
  type TrainedModels,
  type TrainingResult,
  TrainingRun,
} from './api/index.js'
export { defineEnvironment, defineTool, toolEnvironment } from './environment/index.js'
export { ConfigError, type ErrorCode, errorCodes, InputError, type Problem, WhetstoneError } from './errors/index.js'
export { FastExperienceMaker } from './experience/index.js'
export { defineEstimator, defineLoss } from './maths/index.js'
export { LocalModel } from './model/index.js'
export { createRlhfPipeline } from './pipeline/index.js'
export { defineReward } from './reward/index.js'
export { defineLogger } from './run/index.js'
export { agentEnvironment } from './serve/index.js'
export { Tokenizer } from './text/index.js'
export { defineAlgorithm, defineGenerator } from './train/index.js'
