import type { Run } from '../../run/index.js';
import { type MetricSummary, type TrainProgress } from '../progress.js';
import { type RlConfig } from './config.js';
import type { RlParts } from './parts.js';
import { type RlState } from './state.js';
export interface RlLoopOptions {
    readonly config: RlConfig;
    readonly iterations: number;
    readonly parts: RlParts;
    readonly run: Run;
    readonly progress: TrainProgress;
    /** What the devices hold, for the metrics. */
    readonly memory: () => Readonly<Record<string, number>>;
    /** Asks the run to stop: the optimiser step under way is finished, and everything is saved. */
    readonly signal: AbortSignal;
}
export interface RlLoopResult {
    readonly outcome: 'finished' | 'stopped';
    readonly state: RlState;
    /** Of the last iteration. */
    readonly metrics: Readonly<Record<string, number>>;
    readonly summary: Readonly<Record<string, MetricSummary>>;
}
export declare function trainRl(options: RlLoopOptions): Promise<RlLoopResult>;
