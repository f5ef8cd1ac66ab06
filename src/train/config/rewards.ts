/** What a config says of how rewards are asked for. */
import { z } from 'zod'

export const rewardRunShape = {
  rewardPatienceMinutes: z
    .number()
    .min(0)
    .default(10)
    .describe(
      'how long a reward server may give no answer, or a reward file load, before the run stops, to be resumed',
    ),
  rewardWorkers: z
    .int()
    .min(1)
    .default(1)
    .describe('processes of each reward file (.ts, .js); calls are divided among them'),
}

/** How the rewards of a config are loaded. */
export function rewardLoading(config: { readonly rewardPatienceMinutes: number; readonly rewardWorkers: number }): {
  workers: number
  patienceMinutes: number
} {
  // A run that waits for no server still lets its file load.
  return { workers: config.rewardWorkers, patienceMinutes: Math.max(1, config.rewardPatienceMinutes) }
}
