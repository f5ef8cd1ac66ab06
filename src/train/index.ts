/** The trainings: SFT, reward models, preferences (DPO, IPO, KTO) and RL, each with its config, its checks and its job. */

export { type Report, reportFor, silentReport } from '../progress/index.js'
export { checkGenerator } from './checks/check-generator.js'
export * from './checks/check-plan.js'
export { deviceMemory, MachineError, requireMachine } from './checks/machine.js'
export { estimateModel, type ModelMemory } from './checks/memory-estimate.js'
export { type PlannedData, type PlannedUse, planRows, type TrainingPlan } from './checks/plan.js'
export { type MediaSettings, mediaSchema } from './config/common.js'
export { checkDefinitions, definitionInputs, loadDefinition, loadDefinitions } from './config/definitions.js'
export { describeDefinition } from './config/describe-definition.js'
export {
  environmentShape,
  hasEnvironment,
  isEnvironment,
  isTool,
  loadEnvironment,
  toolNames,
} from './config/environment.js'
export { type GeneratorConfig, generatorOptionProblems, generatorSchema } from './config/generator.js'
export { experienceIdle, type IdleRule, idleOptions } from './config/idle-options.js'
export { loggersOption, recordedLoggers } from './config/loggers.js'
export { configJsonSchema, configOptions, optionTable } from './config/option-table.js'
export * from './config/other-words.js'
export {
  at,
  bare,
  type ConfigLayer,
  fieldAt,
  fileLayer,
  nested,
  type RawConfig,
  type ResolvedConfig,
  type ResolveOptions,
  resolveConfig,
  settingsLayer,
  shapeOf,
  withOrigin,
  withValue,
} from './config/resolve.js'
export { loadRunRewards, rewardLoading, rewardNamesOf, rewardRunShape, rewardsSchema } from './config/rewards.js'
export type {
  PreferencePlain,
  RewardModelPlain,
  RlInput,
  RlPlain,
  RlPlainCritic,
  RlPlainPtx,
  SftPlain,
} from './options.generated.js'
export { type PreferenceConfig, preferencePaths, preferenceSchema } from './preference/config.js'
export { runPreference } from './preference/job.js'
export { type RewardModelConfig, rewardModelSchema } from './reward-model/config.js'
export * from './rl/index.js'
export { defineGenerator, type GeneratorContext, type GeneratorDefinition } from './run/define-generator.js'
export { TrainingError } from './run/errors.js'
export type { TrainingEvent } from './run/events.js'
export { exportRun } from './run/export-run.js'
export type { Best, CheckedTraining, JobOptions, JobResult, LiveParts } from './run/job.js'
export { copyHere, type LoadedModel, loadFrozen, rewardModelLoader } from './run/load-model.js'
export { openMedia, processorOptions } from './run/media.js'
export { engineOver, openGenerator } from './run/open-generator.js'
export { runVersions } from './run/run-setup.js'
export { sftSchema } from './sft/config.js'
export { runSft } from './sft/job.js'
export { evaluateSft } from './sft/loop.js'
export { supervisedPaths } from './supervised/config.js'
export { rewardModelIdle, supervisedIdle } from './supervised/idle-options.js'
export { replaySupervised } from './supervised/replay.js'
export {
  type ResolvedTraining,
  type Training,
  type TrainingConfig,
  type TrainingInputs,
  type TrainingName,
  trainings,
} from './trainings.js'
