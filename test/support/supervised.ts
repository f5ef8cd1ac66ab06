/** A small world for supervised trainings: rows in memory or in files, tiny models that know the fixtures' tokenizer. */
import type { DataCursor, ExampleSet, ExampleStream } from '../../src/data/index.js'
import type { LocalModel } from '../../src/model/index.js'
import { type Report, silentReport } from '../../src/progress/index.js'
import { Run } from '../../src/run/index.js'
import { optimizerSchema } from '../../src/train/config/common.js'
import type { JobOptions } from '../../src/train/run/job.js'
import type { TrainProgress } from '../../src/train/run/progress.js'
import { EpochTraining, type EpochTrainingOptions } from '../../src/train/supervised/epoch-training.js'
import { promptIdOf, type SupervisedExample } from '../../src/train/supervised/example-digest.js'
import { fresh } from './files.js'

/** Everything that is trained, by name. */
export async function weightsOf(model: LocalModel): Promise<Map<string, Float32Array>> {
  const found = new Map<string, Float32Array>()
  const { weights } = model.parts
  for (const [name, tensor] of weights) found.set(name, (await tensor.data<'float32'>()) as Float32Array)
  return found
}

/** Rows in memory, in their order, as a dataset's stream gives them. */
export function streamOf<E>(rows: readonly E[]): ExampleStream<E> {
  let cursor: DataCursor = { epoch: 0, position: 0 }
  return {
    size: rows.length,
    counts: { truncated: 0, dropped: {} },
    get cursor() {
      return cursor
    },
    seek(to) {
      cursor = to
    },
    from(to) {
      const other = streamOf(rows)
      other.seek(to)
      return other
    },
    async take(wanted) {
      const taken = rows.slice(cursor.position, cursor.position + wanted)
      const position = cursor.position + taken.length
      cursor = position < rows.length ? { ...cursor, position } : { epoch: cursor.epoch + 1, position: 0 }
      return taken
    },
  }
}

export function setOf<E>(rows: readonly E[]): ExampleSet<E> {
  return {
    size: rows.length,
    counts: { truncated: 0, dropped: {} },
    async *parts(wanted) {
      for (let at = 0; at < rows.length; at += wanted) yield rows.slice(at, at + wanted)
    },
  }
}

/** Calls back with every progress line and stage. */
export const stoppingReport = (seen: (text: string) => unknown): Report => ({
  ...silentReport,
  live: () => ({ show: ({ at }) => void seen(at), doing: text => void seen(text), end() {} }),
})

const silent: TrainProgress = { begin() {}, step() {}, note() {}, warn() {}, stage() {}, leave() {}, end() {} }

export type TrainingSettings = Partial<EpochTrainingOptions<SupervisedExample>['config']> & { lr?: number }

/** A training over rows in memory, in a run directory of its own. */
export async function trainingOf<E extends SupervisedExample>(
  model: LocalModel,
  rows: readonly E[],
  { lr = 1e-3, ...settings }: TrainingSettings = {},
  rest: Partial<EpochTrainingOptions<E>> = {},
): Promise<{ training: EpochTraining<E>; run: Run }> {
  const identity = { command: 'sft', config: {}, origins: {}, fingerprints: {}, versions: {} } as const
  const run = rest.run ?? (await Run.create(fresh('run'), identity))
  // A large eps, so that a step is nearly linear in the gradient: rounding stays rounding.
  const optimizer = optimizerSchema(lr).parse({ eps: 1e-3 })
  const training = await EpochTraining.open<E>({
    run,
    model,
    rows: streamOf(rows),
    config: { epochs: 1, batchSize: rows.length, saveSteps: 1000, optimizer, ...settings },
    validation: 'none',
    bestBy: { metric: 'loss/validation', better: 'lower' },
    digest: promptIdOf,
    progress: silent,
    memory: () => ({}),
    signal: new AbortController().signal,
    ...rest,
  })
  return { training, run }
}

/** A job over a config as a user writes it. */
export function jobOf<C>(config: C, rest: Partial<JobOptions<C>> = {}): JobOptions<C> {
  const { signal } = new AbortController()
  return { config, origins: {}, resume: false, allowChange: [], report: silentReport, signal, ...rest }
}

/** Numbers that a seed decides. */
export function randomOf(seed: number): () => number {
  let state = seed * 2654435761 + 12345
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** In another order, none where it was. */
export const rotated = <T>(values: readonly T[]): T[] => [...values.slice(1), ...values.slice(0, 1)]
