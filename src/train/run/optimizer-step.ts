import type { TrainStepResult } from '../../model/index.js'

/** A step, and how often its batch overflowed in float16 before. */
export interface MadeStep extends TrainStepResult {
  readonly overflows: number
}

/**
 * Computes the gradients of a batch and makes the step. After a float16 overflow no step is made, the loss scale is halved and
 * the batch is computed again, so that no row or sample is lost. `attempt` starts from zero gradients each time.
 */
export async function untilStepped<T extends { readonly step: MadeStep | undefined }>(
  attempt: (overflows: number) => Promise<T>,
): Promise<T> {
  for (let overflows = 0; ; overflows++) {
    const made = await attempt(overflows)
    if (!made.step?.skipped) return made
  }
}

/** The numbers of a step, by the names of the metrics' table, when the device has made it. */
export async function stepMetrics(step: MadeStep): Promise<Record<string, number>> {
  const { norm, changed, lossScale, overflows } = step
  return {
    'grad/norm': norm,
    ...(changed === undefined ? {} : { 'weights/changed': await changed }),
    ...(lossScale === undefined ? {} : { 'grad/loss_scale': lossScale, 'grad/overflows': overflows }),
  }
}
