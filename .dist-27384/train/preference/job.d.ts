import type { JobOptions, JobResult } from '../job.js';
import type { PreferenceConfig } from './config.js';
/**
 * Preference training from a config to `best_model` and `final_model` in the run directory. The reference is asked once, before
 * the first step; what it said is kept in the run.
 *
 * @example
 * async function train(job: JobOptions<PreferenceConfig>): Promise<void> {
 *   const { metrics } = await runPreference(job)
 *   console.log(metrics['preference/margin'])
 * }
 */
export declare function runPreference(job: JobOptions<PreferenceConfig>): Promise<JobResult>;
