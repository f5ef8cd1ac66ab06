/** Options of loading and calling rewards. */
import { z } from 'zod'
import {
  type LoadRewardsOptions,
  loadRewardOptions,
  loadRewardsBeside,
  type RewardEngineOptions,
  type RewardNames,
  rewardForms,
} from '../../reward/index.js'
import type { LiveParts } from '../run/job.js'

const name = z.string().min(1)

/** What scores the answers. */
export const rewardsSchema = z
  .union([name, z.array(name).min(1)])
  .describe(`${rewardForms}; or a list of these, whose rewards are added`)

export const rewardRunShape = {
  rewardPatienceMinutes: z
    .number()
    .min(0)
    .default(10)
    .describe(
      'minutes without an answer of a reward server, or of loading a reward file, before the run stops (resume continues it)',
    ),
  rewardWorkers: z.int().min(1).default(1).describe('processes per reward file (.ts, .js); they share the calls'),
}

/** How the rewards of a config are loaded. */
export function rewardLoading(config: { readonly rewardPatienceMinutes: number; readonly rewardWorkers: number }): {
  workers: number
  patienceMinutes: number
} {
  // Even without patience for servers, a file gets time to load.
  return { workers: config.rewardWorkers, patienceMinutes: Math.max(1, config.rewardPatienceMinutes) }
}

type LiveRewards = Pick<LiveParts, 'rewards' | 'rewardNames'>

/** What is to be found by its name: what the config names; where a program gives rewards, only what it names beside them. */
export function rewardNamesOf<N extends RewardNames | undefined>(
  named: N,
  { rewards, rewardNames = [] }: LiveRewards,
): N | readonly string[] | undefined {
  if (!rewards) return named
  return rewardNames.length === 0 ? undefined : rewardNames
}

/** The rewards of a run: those that the config names, or those of a program and what it names beside them. */
export function loadRunRewards(
  named: RewardNames,
  { rewards, rewardNames = [] }: LiveRewards,
  options: LoadRewardsOptions,
): Promise<RewardEngineOptions> {
  return rewards ? loadRewardsBeside(rewardNames, rewards, options) : loadRewardOptions(named, options)
}
