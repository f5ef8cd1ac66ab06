/**
 * The formulas: KL, reward shaping, advantages and losses. All are pure: numbers in, numbers out, in float64. `deriveAdvantages`
 * runs all steps from rewards to advantages; `objective` is the policy loss with its KL and entropy terms.
 *
 * @example
 * const { samples, info } = deriveAdvantages({ samples: rollout, options: { advantageEstimator: 'group_norm', klCoef: 0 } })
 * const { value, gradients } = objective({ samples: [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }], totals: tokenTotals([2]), options: { loss: 'ppo' } })
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
} from './advantages/advantage-options.js'
export {
  advantagesAndReturns,
  clipAdvantagesInPlace,
  discountedReturns,
  gaeAdvantages,
  type TokenAdvantages,
  whitenInPlace,
} from './advantages/advantages.js'
export { clipInPlace } from './advantages/clip.js'
export {
  type AdvantageInfo,
  type DerivedRollout,
  type DerivedSample,
  defaultKlCoef,
  deriveAdvantages,
} from './advantages/derive-advantages.js'
export { highEntropyMask } from './advantages/entropy-filter.js'
export {
  type AdvantageEstimator,
  advantageEstimators,
  estimatorHints,
  estimatorTraits,
  isGroupEstimator,
} from './advantages/estimators.js'
export { type Group, type GroupKey, groupsOf } from './advantages/groups.js'
export { type KlEstimator, klEstimators, meanKl, tokenKl } from './advantages/kl.js'
export {
  type KlController,
  klControllerSchema,
  restoreKlController,
  updateKlController,
} from './advantages/kl-controller.js'
export { type Moments, mergeMoments, momentsOf, noMoments, sampleStd } from './advantages/moments.js'
export { RolloutError, type RolloutSample, rolloutProblems, type SampleProblem } from './advantages/rollout-samples.js'
export {
  addToRunningMoments,
  initialRunningMoments,
  normalizeByRunningMoments,
  type RunningMoments,
  restoreRunningMoments,
  runningStd,
  updateRunningMoments,
} from './advantages/running-moments.js'
export {
  allEqual,
  configuredOverlongPenalty,
  type OverlongOptions,
  overlongPenalty,
  shapeGroup,
  shapeRewards,
} from './advantages/shaping.js'
export {
  type Distribution,
  distribution,
  type GroupStatistics,
  groupStatistics,
  type TokenStatistics,
  tokenStatistics,
} from './advantages/statistics.js'
export { tokenRewards } from './advantages/token-rewards.js'
export { type Aggregation, aggregations, type TokenTotals, tokenTotals } from './losses/aggregation.js'
export { type EntropyLossOptions, type EntropyLossResult, type EntropySample, entropyLoss } from './losses/entropy.js'
export { alteredTokens, importanceProblems } from './losses/importance.js'
export { type KlLossOptions, type KlLossResult, type KlSample, klLoss } from './losses/kl.js'
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
} from './losses/kto.js'
export {
  type ObjectiveOptions,
  type ObjectiveResult,
  type ObjectiveSample,
  objective,
  objectiveShape,
  resolveObjectiveOptions,
} from './losses/objective.js'
export {
  mergePolicyStatistics,
  type PolicyLossResult,
  type PolicySample,
  type PolicyStatistics,
  policyLoss,
} from './losses/policy.js'
export { type PolicyLossName, type PolicyLossOptions, policyLossNames, policyShapes } from './losses/policy-options.js'
export {
  mergePreferenceStatistics,
  type PreferenceLossName,
  type PreferenceLossOptions,
  type PreferenceLossResult,
  type PreferencePair,
  type PreferenceStatistics,
  preferenceLoss,
} from './losses/preference.js'
export { type LossEntry, type LossKind, type LossName, losses } from './losses/registry.js'
export {
  mergeRewardModelStatistics,
  type PairLoss,
  type PairTotals,
  type RewardModelLossOptions,
  type RewardModelLossResult,
  type RewardModelStatistics,
  rewardModelLoss,
  rewardModelLossSchema,
  type ScoredPair,
} from './losses/reward-model.js'
export {
  type SftLossOptions,
  type SftLossResult,
  type SftSample,
  type SftTotals,
  sftLoss,
  sftTotals,
} from './losses/sft.js'
export {
  explainedVariance,
  mergeValueStatistics,
  type ValueLossOptions,
  type ValueLossResult,
  type ValueSample,
  type ValueStatistics,
  valueLoss,
} from './losses/value.js'
