/**
 * Rewards: samples in, one outcome each out.
 *
 * @example
 * import { defineReward, RewardComputationEngine, format } from 'whetstone/reward'
 */
export * from './library.js'
export {
  type LoadRewardsOptions,
  loadRewardOptions,
  loadRewards,
  loadRewardsBeside,
  type RewardModelPlace,
} from './load.js'
export { namedRewards, type RewardNames, rewardForms, ruleNames } from './named-rewards.js'
export * from './reward-directory.js'
export * from './reward-files.js'
export { rewardModelPlace } from './spec.js'
