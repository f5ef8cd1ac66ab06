/** How far a run came according to its logs and checkpoints; the journal must have all of it. */
import type { Checkpoint, RunView } from '../../run/index.js'

interface TrainedSoFar {
  /** The last step with metrics; an iteration, where the trainer counts those. */
  readonly logged: number
  /** Optimiser steps of the last checkpoint that was saved or gone on from. */
  readonly saved: number
  /** That checkpoint, where it is there. */
  readonly checkpoint: Checkpoint | undefined
}

export async function trainedSoFar(view: RunView): Promise<TrainedSoFar> {
  const logged = Math.max(0, ...[...view.metrics.values()].map(points => points.at(-1)!.step))
  const newest = await view.latest()
  const last = view.events.findLast(({ kind, step }) => /^(checkpoint|resumed)$/.test(kind) && typeof step === 'number')
  const saved = (last?.step as number | undefined) ?? newest?.step ?? 0
  // A newer one was passed over, and the run went on from before it.
  return { logged, saved, checkpoint: newest?.step === saved ? newest : undefined }
}

/** `step 3`, `steps 3 to 7`. */
export function span(what: string, first: number, last: number): string {
  return first === last ? `${what} ${first}` : `${what}s ${first} to ${last}`
}
