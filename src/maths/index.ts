/**
 * The formulas: KL, reward shaping, advantages and losses. All are pure: numbers in, numbers out, in float64. `deriveAdvantages`
 * runs all steps from rewards to advantages; `objective` is the policy loss with its KL and entropy terms.
 *
 * @example
 * const { samples, info } = deriveAdvantages({ samples: rollout, options: { advantageEstimator: 'group_norm', klCoef: 0 } })
 * const { value, gradients } = objective({ samples: [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }], totals: tokenTotals([2]), options: { loss: 'ppo' } })
 */

export * from './advantages/advantage-options.js'
export * from './advantages/advantages.js'
export * from './advantages/clip.js'
export * from './advantages/define-estimator.js'
export * from './advantages/derive-advantages.js'
export * from './advantages/entropy-filter.js'
export * from './advantages/estimators/gae.js'
export * from './advantages/estimators.js'
export * from './advantages/groups.js'
export * from './advantages/kl.js'
export * from './advantages/kl-controller.js'
export * from './advantages/moments.js'
export * from './advantages/rollout-samples.js'
export * from './advantages/running-moments.js'
export * from './advantages/shaping.js'
export * from './advantages/statistics.js'
export * from './advantages/token-rewards.js'
export type { RolloutTurn } from './advantages/turns.js'
export * from './check-definition.js'
export * from './definition.js'
export * from './losses/aggregation.js'
export * from './losses/define-loss.js'
export * from './losses/entropy.js'
export * from './losses/importance.js'
export * from './losses/kl.js'
export * from './losses/kto.js'
export * from './losses/objective.js'
export * from './losses/policy.js'
export * from './losses/policy-losses.js'
export * from './losses/policy-options.js'
export * from './losses/policy-tokens.js'
export * from './losses/preference.js'
export * from './losses/preference-losses.js'
export * from './losses/registry.js'
export * from './losses/reward-model.js'
export * from './losses/sft.js'
export * from './losses/value.js'
