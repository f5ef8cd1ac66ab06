/** Rewards that environments give. */
import {
  type RewardEngineOptions,
  type RewardInput,
  type RewardOutcome,
  type RewardSource,
  SourceError,
} from '../reward/index.js'

/** The environment's own reward as the only one. An episode without it has no reward. */
export const environmentSource: RewardSource = {
  name: 'environment',
  kind: 'function',
  limits: { batchSize: 1, concurrency: 32, deadlineMs: 120_000, retries: 0 },
  score: async ([input]) => {
    const { environmentReward } = input!
    if (environmentReward === undefined)
      throw new SourceError(
        'input',
        'the environment gave this episode no reward; give rewards in step or score, set truncatedReward for episodes that a limit ended, or add rewards to the config',
      )
    return [environmentReward]
  },
}

/** Adds the environment's reward to that of other sources. */
export function withEnvironmentReward(outcome: RewardOutcome, { environmentReward }: RewardInput): RewardOutcome {
  if (outcome.kind === 'failed' || environmentReward === undefined) return outcome
  const components = { ...outcome.components, environment: environmentReward }
  return { ...outcome, reward: outcome.reward + environmentReward, components }
}

/** Rewards of a run: where there are none, those of the environment. */
export function withEnvironment<R extends RewardEngineOptions>(
  rewards: R,
  environment: object | undefined,
): R | RewardEngineOptions {
  return environment && !givesRewards(rewards) ? { ...rewards, sources: [environmentSource] } : rewards
}

/** Whether there are rewards besides those of an environment. */
export function givesRewards(
  rewards: Omit<RewardEngineOptions, 'rewardModel'> & { readonly rewardModel?: unknown },
): boolean {
  const { sources = [], rewardModel, remoteRmUrl, customRewardFunc, rewardFn } = rewards
  return (
    sources.length > 0 ||
    [rewardModel, remoteRmUrl, customRewardFunc, rewardFn].some(one => one !== undefined && one !== null)
  )
}
