/** Diagnoses of a run in progress: each is a warning of the run, once. */
import { DiagnosisWatch, Run } from '../../run/index.js'
import type { TrainProgress } from './progress.js'

export interface Diagnosing {
  step(step: number, metrics: Readonly<Record<string, number>>): void
  readonly found: DiagnosisWatch['found']
}

/** A resumed run goes on with the metrics that it has logged. */
export async function watchDiagnoses(run: Run, progress: Pick<TrainProgress, 'warn'>): Promise<Diagnosing> {
  const watch = new DiagnosisWatch(run.fromStart ? undefined : (await Run.read(run.directory)).metrics)
  return {
    step(step, metrics) {
      for (const { id, message: words, page } of watch.step(step, metrics)) {
        const message = `${words} Read ${page}.`
        run.event('warning', { message, diagnosis: id, page, step })
        progress.warn(message)
      }
    },
    get found() {
      return watch.found
    },
  }
}
