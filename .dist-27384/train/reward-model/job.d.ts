import type { JobOptions, JobResult } from '../job.js';
import type { PairLoss } from '../losses/index.js';
import type { RewardModelConfig } from './config.js';
/** What a program may put in place of a part of the training. */
export interface RewardModelExtensions {
    /** The loss of pairs, in place of the ranking loss. It is called once, with the config. */
    readonly createLoss?: ((config: RewardModelConfig) => PairLoss) | undefined;
}
/**
 * A reward model from pairs of answers, from a config to `best_model` and `final_model` in the run directory.
 *
 * @example
 * async function train(job: JobOptions<RewardModelConfig>): Promise<void> {
 *   const { best } = await runRewardModel(job)
 *   console.log(best?.value) // accuracy on held-out pairs
 * }
 */
export declare function runRewardModel(job: JobOptions<RewardModelConfig>, { createLoss }?: RewardModelExtensions): Promise<JobResult>;
