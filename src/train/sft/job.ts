import type { JobOptions, JobResult } from '../run/job.js'
import { runSupervised } from '../supervised/job.js'
import type { SftConfig } from './config.js'
import { sftLoop } from './loop.js'

/** Supervised fine-tuning from a config to `best_model` and `final_model` in the run directory. */
export function runSft(job: JobOptions<SftConfig>): Promise<JobResult> {
  return runSupervised(job, {
    command: 'sft',
    kind: 'conversations',
    role: 'language',
    bestBy: { metric: 'validation/perplexity', better: 'lower' },
    shown: ['loss/train', 'validation/perplexity', 'grad/norm', 'speed/tokens_per_second'],
    loop: ({ config: { packing }, model, training, validation }) =>
      sftLoop({ model, training, validation, packing, signal: job.signal }),
  })
}
