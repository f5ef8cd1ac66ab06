/** How far a run says that it came, by its logs and checkpoints: what its journal has to hold. */
import type { Checkpoint, RunView } from '../run/index.js';
export interface TrainedSoFar {
    /** The last step with metrics; an iteration, where the trainer counts those. */
    readonly logged: number;
    /** Optimiser steps of the last checkpoint that was saved or gone on from. */
    readonly saved: number;
    /** That checkpoint, where it is there. */
    readonly checkpoint: Checkpoint | undefined;
}
export declare function trainedSoFar(view: RunView): Promise<TrainedSoFar>;
/** `step 3`, `steps 3 to 7`. */
export declare function span(what: string, first: number, last: number): string;
