/** What a config says of how rewards are asked for. */
import { z } from 'zod'

export const rewardRunShape = {
  rewardPatienceMinutes: z
    .number()
    .min(0)
    .default(10)
    .describe('how long a reward server may give no answer before the run stops, to be resumed'),
}
