/**
 * Experience: from rewards to advantages. `deriveAdvantages` runs all steps over a rollout; each step is a pure function that can
 * be composed otherwise.
 *
 * @example
 * const { samples, info } = deriveAdvantages({ samples: rollout, options: { advantageEstimator: 'group_norm', klCoef: 0 } })
 */
export {
  type AdvantageOptions,
  advantageOptionProblems,
  advantageOptionsSchema,
  advantageOptionsShape,
  advantageOptionWarnings,
  pickAdvantageOptions,
  type ResolvedAdvantageOptions,
  resolveAdvantageOptions,
} from './advantage-options.js'
export {
  advantagesAndReturns,
  clipAdvantagesInPlace,
  discountedReturns,
  gaeAdvantages,
  type TokenAdvantages,
  whitenInPlace,
} from './advantages.js'
export { clipInPlace } from './clip.js'
export { type Collected, EngineLostError, RewardsLostError, type ScoredGroup, type ScoredSample } from './collect.js'
export {
  type ExperienceConfig,
  ExperienceConfigError,
  type ExperienceOptions,
  experienceShape,
  type GenerationOptions,
  generationShape,
  resolveExperienceConfig,
  structuredNeeds,
} from './config.js'
export {
  type AdvantageInfo,
  type DerivedRollout,
  type DerivedSample,
  defaultKlCoef,
  deriveAdvantages,
} from './derive-advantages.js'
export {
  completeGroup,
  type GroupCompletion,
  type GroupMember,
  type GroupOrigin,
  type GroupSelection,
  selectGroups,
} from './dynamic-sampling.js'
export { highEntropyMask } from './entropy-filter.js'
export {
  type AdvantageEstimator,
  advantageEstimators,
  estimatorHints,
  estimatorTraits,
  isGroupEstimator,
} from './estimators.js'
export type {
  Dropped,
  DropReason,
  Experience,
  ExperienceBatch,
  ExperienceInfo,
  SampleTexts,
  StageSeconds,
} from './experience.js'
export {
  type ExperienceState,
  FastExperienceMaker,
  type FastExperienceMakerOptions,
  type MakeOptions,
  type MediaProcessor,
} from './fast-experience-maker.js'
export { type Group, type GroupKey, groupsOf } from './groups.js'
export { dataParallel, gather, paddingShare, type Scorer, scatter, scoreResponses } from './inference.js'
export { type KlEstimator, klEstimators, meanKl, tokenKl } from './kl.js'
export { type KlController, klControllerSchema, restoreKlController, updateKlController } from './kl-controller.js'
export { ModelTurns, type Turns } from './model-turns.js'
export { type Moments, mergeMoments, momentsOf, noMoments, sampleStd } from './moments.js'
export {
  type EncodedPrompt,
  type Prompt,
  type PromptColumns,
  type PromptCounts,
  type PromptRow,
  promptLimit,
} from './prompts.js'
export type {
  Inference,
  JournalledInference,
  JournalledReward,
  RolloutJournal,
  SampleKey,
} from './rollout-journal.js'
export { RolloutError, type RolloutSample, rolloutProblems, type SampleProblem } from './rollout-samples.js'
export {
  addToRunningMoments,
  initialRunningMoments,
  normalizeByRunningMoments,
  type RunningMoments,
  restoreRunningMoments,
  runningStd,
  updateRunningMoments,
} from './running-moments.js'
export {
  allEqual,
  configuredOverlongPenalty,
  type OverlongOptions,
  overlongPenalty,
  shapeGroup,
  shapeRewards,
} from './shaping.js'
export {
  type Distribution,
  distribution,
  type GroupStatistics,
  groupStatistics,
  type TokenStatistics,
  tokenStatistics,
} from './statistics.js'
export { tokenRewards } from './token-rewards.js'
