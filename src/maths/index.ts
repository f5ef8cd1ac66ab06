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
export { clipAdvantagesInPlace, whitenInPlace } from './advantages/advantages.js'
export { clipInPlace } from './advantages/clip.js'
export {
  defineEstimator,
  discountedReturns,
  type EstimatorDefinition,
  type EstimatorInput,
  isEstimator,
  type TokenAdvantages,
} from './advantages/define-estimator.js'
export {
  type AdvantageInfo,
  type DerivedRollout,
  type DerivedSample,
  defaultKlCoef,
  deriveAdvantages,
} from './advantages/derive-advantages.js'
export { highEntropyMask } from './advantages/entropy-filter.js'
export { gaeAdvantages } from './advantages/estimators/gae.js'
export {
  type AdvantageEstimator,
  advantageEstimators,
  comparesSamples,
  estimatorHints,
  estimatorOf,
  estimators,
} from './advantages/estimators.js'
export { type Group, type GroupKey, groupsOf } from './advantages/groups.js'
export { type KlEstimator, klEstimators, meanKl, tokenKl } from './advantages/kl.js'
export {
  type KlController,
  klControllerSchema,
  restoreKlController,
  updateKlController,
} from './advantages/kl-controller.js'
export { allEqual, type Moments, mergeMoments, momentsOf, noMoments, sampleStd } from './advantages/moments.js'
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
export { checkEstimator, checkLoss } from './check-definition.js'
export {
  type Definition,
  define,
  definitionNamed,
  definitionOption,
  described,
  isDefinition,
  isDefinitionPath,
  ownOptions,
} from './definition.js'
export { type Aggregation, aggregations, type TokenTotals, tokenTotals } from './losses/aggregation.js'
export {
  defineLoss,
  isLoss,
  type LabelledLossDefinition,
  type LabelledResponse,
  type LossDefinition,
  type PairLogprobs,
  type PairTerm,
  type PolicyLossDefinition,
  type PreferenceLossDefinition,
  type RewardModelLossDefinition,
} from './losses/define-loss.js'
export { type EntropyLossOptions, type EntropyLossResult, type EntropySample, entropyLoss } from './losses/entropy.js'
export { alteredTokens, importanceProblems } from './losses/importance.js'
export { type KlLossOptions, type KlLossResult, type KlSample, klLoss } from './losses/kl.js'
export {
  type KtoLossResult,
  type KtoSample,
  type KtoStatistics,
  type KtoTotals,
  ktoTotals,
  type LabelledLoss,
  mergeKtoStatistics,
  type ResponseLogprobs,
} from './losses/kto.js'
export {
  type ObjectiveOptions,
  type ObjectiveResult,
  type ObjectiveSample,
  objective,
  resolveObjectiveOptions,
} from './losses/objective.js'
export {
  mergePolicyStatistics,
  type PolicyLossResult,
  type PolicySample,
  type PolicyStatistics,
} from './losses/policy.js'
export {
  type PolicyLossName,
  type PolicyLossOptions,
  policyLoss,
  policyLossNames,
  policyLossOf,
} from './losses/policy-losses.js'
export { objectiveShape } from './losses/policy-options.js'
export type { PolicyTokens } from './losses/policy-tokens.js'
export {
  mergePreferenceStatistics,
  type PreferenceLossResult,
  type PreferencePair,
  type PreferenceStatistics,
} from './losses/preference.js'
export {
  type PreferenceLossName,
  type PreferenceLossOptions,
  preferenceLoss,
  preferenceLosses,
} from './losses/preference-losses.js'
export { type LossEntry, type LossKind, type LossName, losses } from './losses/registry.js'
export {
  mergeRewardModelStatistics,
  type PairLoss,
  type PairTotals,
  type RewardModelLossResult,
  type RewardModelStatistics,
  type ScoredPair,
} from './losses/reward-model.js'
export {
  type SftLossOptions,
  type SftLossResult,
  type SftSample,
  type SftTotals,
  sftLoss,
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
