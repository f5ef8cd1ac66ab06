/**
 * Computes a batch's gradients and makes its step. A float16 overflow makes no step and halves the loss scale: the batch is computed
 * again with that, so that no row and no sample is lost to it. `attempt` starts from nothing each time.
 */
export async function untilStepped(attempt) {
    for (let overflows = 0;; overflows++) {
        const made = await attempt(overflows);
        if (!made.step?.skipped)
            return made;
    }
}
/** The numbers of a step, by the names of the metrics' table. */
export function stepMetrics({ norm, changed, lossScale, overflows }) {
    return {
        'grad/norm': norm,
        ...(changed === undefined ? {} : { 'weights/changed': changed }),
        ...(lossScale === undefined ? {} : { 'grad/loss_scale': lossScale, 'grad/overflows': overflows }),
    };
}
//# sourceMappingURL=optimizer-step.js.map