/**
 * Rewards: samples in, one outcome each out.
 *
 * @example
 * import { defineReward, RewardComputationEngine, format } from 'whetstone/reward'
 */
export * from './library.js';
export { loadRewardOptions, loadRewards } from './load.js';
export { rewardFiles } from './reward-files.js';
export { rewardModelPlace } from './spec.js';
//# sourceMappingURL=index.js.map