import { losses, type PairLoss } from '../../maths/index.js'
import type { JobOptions, JobResult } from '../run/job.js'
import { runSupervised } from '../supervised/job.js'
import type { RewardModelConfig } from './config.js'
import { rewardModelLoop } from './loop.js'

/**
 * A reward model from pairs of answers, from a config to `best_model` and `final_model` in the run directory.
 *
 * @example
 * async function train(job: JobOptions<RewardModelConfig>): Promise<void> {
 *   const { best } = await runRewardModel(job)
 *   console.log(best?.value) // accuracy on held-out pairs
 * }
 */
export function runRewardModel(job: JobOptions<RewardModelConfig>): Promise<JobResult> {
  return runSupervised(job, {
    command: 'reward',
    kind: 'preferences',
    role: 'reward',
    bestBy: { metric: 'validation/accuracy', better: 'higher' },
    shown: ['loss/train', 'reward/accuracy', 'validation/accuracy', 'speed/tokens_per_second'],
    loop: ({ config, model, training, validation }) => {
      const { margin, rankingWeight, contrastiveWeight, temperature, centerCoef } = config
      const options = { margin, rankingWeight, contrastiveWeight, temperature, centerCoef }
      const loss: PairLoss =
        job.live?.createLoss?.(config) ?? (call => losses['reward-model'].compute({ ...call, options }))
      return rewardModelLoop({ model, training, validation, loss, signal: job.signal })
    },
  })
}
