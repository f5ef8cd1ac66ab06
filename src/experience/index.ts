/** Experience generation: `FastExperienceMaker` generates samples, scores them, and derives their advantages. */
export { samplingParams } from './collect.js'
export type { Collected } from './collected.js'
export {
  type ExperienceConfig,
  ExperienceConfigError,
  experienceShape,
  generationShape,
  resolveExperienceConfig,
  structuredNeeds,
} from './config.js'
export { completeGroup, type GroupMember, selectGroups } from './dynamic-sampling.js'
export { environmentSource, withEnvironment, withEnvironmentReward } from './environment-rewards.js'
export { EngineLostError, EnvironmentLostError, RewardsLostError } from './errors.js'
export type { Dropped, DropReason, Experience, ExperienceBatch, ExperienceInfo } from './experience.js'
export { type ExperienceState, FastExperienceMaker } from './fast-experience-maker.js'
export { paddingShare, type Scorer } from './inference.js'
export { type FastExperienceMakerOptions, type MakeOptions, type MakeProgress, turnsOf } from './maker-options.js'
export { ModelTurns, type Turns } from './model-turns.js'
export * from './multimodal-data-processor.js'
export {
  type EncodedPrompt,
  encodePrompt,
  type PromptCounts,
  promptLimit,
  taskPrompt,
} from './prompts.js'
export { episodeAnswer } from './rolled-out.js'
export type * from './rollout-journal.js'
