export { type Aggregation, aggregations, type TokenTotals, tokenTotals } from './aggregation.js'
export { type EntropyLossOptions, type EntropyLossResult, type EntropySample, entropyLoss } from './entropy.js'
export { alteredTokens, importanceProblems } from './importance.js'
export { type KlLossOptions, type KlLossResult, type KlSample, klLoss } from './kl.js'
export {
  type KtoLossOptions,
  type KtoLossResult,
  type KtoSample,
  type KtoStatistics,
  type KtoTotals,
  ktoLoss,
  ktoTotals,
  mergeKtoStatistics,
  type ResponseLogprobs,
} from './kto.js'
export {
  type ObjectiveOptions,
  type ObjectiveResult,
  type ObjectiveSample,
  type ObjectiveTotals,
  objective,
  objectiveShape,
  resolveObjectiveOptions,
} from './objective.js'
export {
  mergePolicyStatistics,
  type PolicyLossResult,
  type PolicySample,
  type PolicyStatistics,
  policyLoss,
} from './policy.js'
export { type PolicyLossName, type PolicyLossOptions, policyLossNames, policyShapes } from './policy-options.js'
export {
  mergePreferenceStatistics,
  type PreferenceLossName,
  type PreferenceLossOptions,
  type PreferenceLossResult,
  type PreferencePair,
  type PreferenceStatistics,
  preferenceLoss,
} from './preference.js'
export { type LossEntry, type LossKind, type LossName, losses } from './registry.js'
export {
  mergeRewardModelStatistics,
  type PairLoss,
  type PairTotals,
  type RewardModelLossOptions,
  type RewardModelLossResult,
  type RewardModelStatistics,
  rewardModelLoss,
  type ScoredPair,
} from './reward-model.js'
export {
  type SftLossOptions,
  type SftLossResult,
  type SftSample,
  type SftTotals,
  sftLoss,
  sftTotals,
} from './sft.js'
export {
  explainedVariance,
  mergeValueStatistics,
  type ValueLossOptions,
  type ValueLossResult,
  type ValueSample,
  type ValueStatistics,
  valueLoss,
} from './value.js'
