import type { RlConfig } from './config.js';
/** One optimiser step: of the critic, or of the policy. */
export interface PlannedUpdate {
    readonly model: 'critic' | 'policy';
    readonly epoch: number;
    /** Places in the rollout. */
    readonly places: readonly number[];
}
export interface PlanOptions {
    readonly samples: number;
    readonly trainBatchSize: number | undefined;
    readonly updateEpochs: number;
    readonly seed: number;
    readonly iteration: number;
    /** Who is trained: a critic that warms up is alone. */
    readonly models: readonly PlannedUpdate['model'][];
}
/**
 * The updates of an iteration in their order. The critic's come first: they do not depend on the policy's, and each model is
 * brought to a device that holds only one of them once.
 */
export declare function planUpdates(options: PlanOptions): PlannedUpdate[];
/** The same of an iteration of a run. */
export declare function iterationPlan(config: RlConfig, { iteration, samples }: {
    iteration: number;
    samples: number;
}): PlannedUpdate[];
