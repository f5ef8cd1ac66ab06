import { type ChartRun } from '../run/index.js';
/** Gives the files that were written. */
export declare function drawCurves(directory: string, runs: readonly ChartRun[]): Promise<string[]>;
