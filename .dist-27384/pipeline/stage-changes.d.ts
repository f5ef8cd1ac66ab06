/** What differs from what a stage was made from, in the words of the pipeline's config; and whether it may go on all the same. */
import { InputError } from '../errors/index.js';
import { type StageConfig } from './stage-configs.js';
import type { InputChange } from './stage-record.js';
import type { StageName } from './stages.js';
/** One thing that is otherwise than it was. */
export interface StageChange {
    /** As the config calls it: `ppoIterations`, `ppo.gamma`, `sftDataPath`. */
    readonly name: string;
    /** Models are what a stage begins with: no run goes on from another one. */
    readonly kind: 'option' | 'data' | 'function' | 'model';
    readonly from: unknown;
    readonly to: unknown;
}
export declare function stageChanges(stage: StageName, training: StageConfig['training'], changes: readonly InputChange[]): StageChange[];
/** Whether every change is one that the caller allows. `ppo` allows all options of that section. */
export declare function areAllowed(changes: readonly StageChange[], allowed: readonly string[]): boolean;
/** A stage that was begun with something else, where it was asked to go on. */
export declare function changedError(directory: string, changes: readonly StageChange[]): InputError;
/** A misspelt name would allow nothing, and say nothing. */
export declare function checkAllowed(allowed: readonly string[]): void;
