/** Everything of this room except loading of modules: what a reward module can import. */
export type { Aggregated, AggregatedPair, MetricValues } from './aggregated.js'
export type { RewardFn, RewardFnLabelMap } from './aggregator.js'
export { type DefinedReward, defineReward } from './define-reward.js'
export { type ComputeOptions, type RewardBatch, RewardComputationEngine } from './engine.js'
export { type RewardEngineOptions, rewardOptionNames } from './engine-options.js'
export { RewardConfigError, RewardStoppedError, SourceError } from './errors.js'
export * from './function-source.js'
export { decodeRewardInput, type RewardInput, type RewardRow, textRewardInput } from './input.js'
export { type GivenMedia, type PromptMedia, promptMedia, type RewardMedia } from './media.js'
export { type ModelRewardOptions, modelReward, type RewardScorer } from './model-source.js'
export * from './outcome.js'
export type { RecipeEntry, RewardRecipe } from './recipe.js'
export { type DialectName, dialectNames, type SentAs } from './remote/dialects.js'
export { type GrpcRewardOptions, grpcReward } from './remote/grpc-source.js'
export { type HttpRewardOptions, httpReward, type TlsOptions } from './remote/http-source.js'
export { remoteReward } from './remote/remote-source.js'
export * from './reward-models.js'
export {
  type AnswerPlace,
  type ExactMatchOptions,
  exactMatch,
  type FormatOptions,
  format,
  type JsonSchemaOptions,
  jsonSchema,
  type LengthOptions,
  length,
  type NumericAnswerOptions,
  numericAnswer,
  type PatternOptions,
  pattern,
  sameAnswer,
  type WordListOptions,
  wordList,
} from './rules/index.js'
export type { LimitOptions, RewardAnswer, RewardSource, SourceKind, SourceLimits } from './source.js'
export type { AwayEvent, QueueEvents, SourceCounts } from './source-queue.js'
export { type RewardSummary, type Statistics, summarizeRewards } from './summary.js'
