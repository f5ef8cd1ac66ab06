/**
 * Training. The losses are pure: numbers per token in, the value and its gradient with respect to those numbers out, in float64.
 *
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { value, gradients } = objective({ samples, totals: tokenTotals([2]), options: { loss: 'ppo' } })
 */

export { plainReport, type Report, reportFor, silentReport } from '../progress/index.js'
export { checkGenerator, type WeightsForServers } from './check-generator.js'
export { type CheckedData, type CheckedModel, type CheckedModels, checkData, checkModels } from './check-plan.js'
export { engineTypes, type GeneratorConfig, generatorOptionProblems, generatorSchema } from './config/generator.js'
export { experienceIdle, type IdleRule, idleOptions } from './config/idle-options.js'
export { type ConfigOption, configJsonSchema, configOptions, optionTable } from './config/option-table.js'
export { commonWords, preferenceOtherWords, rewardOtherWords, rlOtherWords } from './config/other-words.js'
export {
  type ConfigLayer,
  fileLayer,
  type RawConfig,
  type ResolvedConfig,
  resolveConfig,
  settingsLayer,
  withOrigin,
} from './config/resolve.js'
export { rewardLoading, rewardRunShape } from './config/rewards.js'
export { TrainingError } from './errors.js'
export { type ExportRunOptions, exportRun } from './export-run.js'
export type { Best, CheckedTraining, JobOptions, JobResult } from './job.js'
export { type LoadContext, loadFrozen, type ModelSettings } from './load-model.js'
export * from './losses/index.js'
export { deviceMemory, MachineError, requireMachine } from './machine.js'
export { estimateModel, type ModelMemory, type PlannedModel } from './memory-estimate.js'
export { type OpenedGenerator, type OpenGeneratorOptions, openGenerator } from './open-generator.js'
export { type PlannedData, type PlannedUse, planRows, type TrainingPlan } from './plan.js'
export { type PreferenceConfig, preferencePaths, preferenceSchema } from './preference/config.js'
export { runPreference } from './preference/job.js'
export {
  type MetricSummary,
  type ProgressOptions,
  type TrainProgress,
  trainProgress,
} from './progress.js'
export { type RewardModelConfig, rewardModelSchema } from './reward-model/config.js'
export { type RewardModelExtensions, runRewardModel } from './reward-model/job.js'
export * from './rl/index.js'
export { runVersions } from './run-setup.js'
export { type SftConfig, sftSchema } from './sft/config.js'
export { runSft } from './sft/job.js'
export { evaluateSft } from './sft/loop.js'
export { supervisedPaths, supervisedWords } from './supervised-config.js'
export { rewardModelIdle, supervisedIdle } from './supervised-idle.js'
export { type PreparedTraining, prepareSupervised } from './supervised-job.js'
export { type ReplayMismatch, replaySupervised, type SupervisedReplay } from './supervised-replay.js'
