import { losses, ownOptions, type PairLoss, type RewardModelLossDefinition } from '../../maths/index.js'
import { checkDefinitions } from '../config/definitions.js'
import type { JobOptions, JobResult } from '../run/job.js'
import { runSupervised } from '../supervised/job.js'
import type { RewardModelConfig } from './config.js'
import { rewardModelLoop } from './loop.js'

/** A reward model from pairs of answers, from a config to `best_model` and `final_model` in the run directory. */
export async function runRewardModel(job: JobOptions<RewardModelConfig>): Promise<JobResult> {
  checkDefinitions(job.config)
  return runSupervised(job, {
    command: 'reward',
    kind: 'preferences',
    role: 'reward',
    bestBy: { metric: 'validation/accuracy', better: 'higher' },
    shown: ['loss/train', 'reward/accuracy', 'validation/accuracy', 'speed/tokens_per_second'],
    loop: ({ config, model, training, validation }) => {
      const definition: RewardModelLossDefinition = config.loss === 'ranking' ? losses['reward-model'] : config.loss
      const options = ownOptions(definition, config, config.lossOptions)
      const loss: PairLoss = job.live?.createLoss?.(config) ?? (call => definition.compute({ ...call, options }))
      return rewardModelLoop({ model, training, validation, loss, signal: job.signal })
    },
  })
}
