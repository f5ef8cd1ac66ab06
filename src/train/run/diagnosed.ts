/** Diagnoses of a run in progress: each is a warning of the run, once. */
import { DiagnosisWatch, type Finding, Run } from '../../run/index.js'
import type { TrainProgress } from './progress.js'

export interface Diagnosing {
  step(step: number, metrics: Readonly<Record<string, number>>): void
  /** The run has made its last step. */
  end(step: number): void
  readonly found: DiagnosisWatch['found']
}

/** A resumed run goes on with the metrics that it has logged. */
export async function watchDiagnoses(run: Run, progress: Pick<TrainProgress, 'warn'>): Promise<Diagnosing> {
  const watch = new DiagnosisWatch(run.fromStart ? undefined : (await Run.read(run.directory)).metrics)
  const log = (step: number, { id, message: words, page }: Finding): string => {
    const message = `${words} Read ${page}.`
    run.event('warning', { message, diagnosis: id, page, step })
    return message
  }
  return {
    step(step, metrics) {
      for (const finding of watch.step(step, metrics)) progress.warn(log(step, finding))
    },
    // Shown with everything else that was found.
    end(step) {
      for (const finding of watch.end()) log(step, finding)
    },
    get found() {
      return watch.found
    },
  }
}
