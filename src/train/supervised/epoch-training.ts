/**
 * Bookkeeping of a training over epochs: the next batch, the learning rate of a step, evaluations, checkpoints, and resume. The
 * trainer computes the steps.
 */
import { join } from 'node:path'
import { z } from 'zod'
import type { DataCursor, ExampleStream } from '../../data/index.js'
import type { TokenModel } from '../../model/index.js'
import type { Run } from '../../run/index.js'
import { type OptimizerConfig, type StepRates, stepRates } from '../config/common.js'
import { type Diagnosing, watchDiagnoses } from '../run/diagnosed.js'
import { TrainingError } from '../run/errors.js'
import { exportModel } from '../run/export-model.js'
import { type Best, startIsBest } from '../run/job.js'
import { type MadeStep, stepMetrics } from '../run/optimizer-step.js'
import type { MetricSummary, TrainProgress } from '../run/progress.js'
import { journalBlock, type StepRecord } from '../run/step-record.js'
import { actedAt, openSupervisedControl, type SupervisedControl } from './acts.js'
import { promptIdOf, type SupervisedExample } from './example-digest.js'

/** The metric that says which model is the best; of two that are equal by it, the one of lower validation loss. */
export interface BestBy {
  readonly metric: string
  readonly better: 'higher' | 'lower'
}

/** How many rows are done, of how many. */
export type RowsDone = (done: number, total: number) => void

export interface EpochTrainingOptions<E extends SupervisedExample> {
  readonly run: Run
  readonly model: TokenModel
  readonly rows: ExampleStream<E>
  readonly config: {
    readonly epochs: number
    readonly batchSize: number
    readonly maxSteps?: number | undefined
    readonly evalSteps?: number | undefined
    readonly saveSteps: number
    readonly keep?: 'models' | 'adapters'
    readonly optimizer: OptimizerConfig
  }
  /** Whether there is validation data; without it the last model is the best. */
  readonly validation: 'none' | 'held out'
  readonly bestBy: BestBy
  /** A fingerprint of what a row is trained as. */
  readonly digest: (row: E) => string
  readonly progress: TrainProgress
  /** Bytes held, by metric. */
  readonly memory: () => Readonly<Record<string, number>>
  readonly signal: AbortSignal
}

const checkpointSchema = z.object({
  step: z.int().min(0),
  cursor: z.object({ epoch: z.int().min(0), position: z.int().min(0) }),
  best: z.object({ step: z.int(), metric: z.string(), value: z.number() }).nullable(),
  /** The validation loss of the best model. */
  bestLoss: z.number().nullable(),
  /** A stop came before the evaluation that was due. */
  evaluationDue: z.boolean(),
  evaluatedStep: z.int().nullable(),
  /** Rows that were cut or left out so far. */
  rows: z.object({ truncated: z.int(), dropped: z.int() }),
  metrics: z.record(z.string(), z.number()),
})

/** Optimiser steps that are to be done. Rows that are dropped for their length make an epoch shorter than this takes it to be. */
export function plannedSteps(rows: number, config: EpochTrainingOptions<SupervisedExample>['config']): number {
  return Math.min(Math.ceil(rows / config.batchSize) * config.epochs, config.maxSteps ?? Number.POSITIVE_INFINITY)
}

type Measure = (onRows: RowsDone) => Promise<Readonly<Record<string, number>>>

const rowsText = (done: number, total: number): string => `${Math.floor(done)} of ${total} rows`

export class EpochTraining<E extends SupervisedExample> {
  /** Steps that are done. */
  step = 0
  best: Best | undefined
  /** Of each metric, the last value. */
  metrics: Record<string, number> = {}
  readonly totalSteps: number
  readonly #options: EpochTrainingOptions<E>
  #rates: StepRates
  #control: SupervisedControl | undefined
  readonly #summary: Record<string, MetricSummary> = {}
  #diagnoses: Diagnosing | undefined
  #bestLoss = Number.POSITIVE_INFINITY
  #evaluationDue = false
  #evaluatedStep: number | undefined
  #savedStep: number | undefined
  /** Rows that were cut or left out before the run was resumed. */
  #rowsBefore = { truncated: 0, dropped: 0 }
  /** Of the current step: its record on the way to the disk, and when its parts began. */
  #journalled: Promise<void> = Promise.resolve()
  #logged: Promise<void> = Promise.resolve()
  #seconds = { data: 0, begun: 0 }
  /** Whether the current batch is the last of its epoch. */
  #epochOver = false
  /** With what people have set for the current step, and its number, from 1. */
  #acted: EpochTrainingOptions<E>['config']
  #begun = 0

  private constructor(options: EpochTrainingOptions<E>) {
    this.#options = options
    this.totalSteps = plannedSteps(options.rows.size, options.config)
    this.#acted = options.config
    // An invalid schedule is an error before the start.
    this.#rates = stepRates(options.config.optimizer, this.totalSteps)(0)
  }

  /** From the newest checkpoint of the run, or from the beginning. */
  static async open<E extends SupervisedExample>(options: EpochTrainingOptions<E>): Promise<EpochTraining<E>> {
    const training = await EpochTraining.#opened(options)
    training.#diagnoses = await watchDiagnoses(options.run, options.progress)
    training.#begun = training.step
    training.#control = await openSupervisedControl({
      ...{ run: options.run, config: options.config, validation: options.validation },
      step: () => training.step + 1,
      next: () => training.#begun + 1,
    })
    options.progress.begin(training.step)
    return training
  }

  static async #opened<E extends SupervisedExample>(options: EpochTrainingOptions<E>): Promise<EpochTraining<E>> {
    const training = new EpochTraining(options)
    const latest = await options.run.latest()
    if (!latest) {
      // The start is the first best model: no checkpoint that is worse than it can be one.
      training.#evaluationDue = options.validation === 'held out'
      return training
    }
    options.progress.stage('reading the checkpoint')
    const state = checkpointSchema.safeParse(latest.state)
    if (!state.success) throw new TrainingError(`${latest.directory} is not a checkpoint of this kind of training`)
    const { step, cursor, best, bestLoss, evaluationDue, evaluatedStep, metrics, rows } = state.data
    await options.model.loadState(join(latest.directory, 'model'))
    options.rows.seek(cursor)
    training.step = step
    training.best = best ?? undefined
    training.#bestLoss = bestLoss ?? Number.POSITIVE_INFINITY
    training.metrics = metrics
    training.#evaluationDue = evaluationDue
    training.#evaluatedStep = evaluatedStep ?? undefined
    training.#rowsBefore = rows
    training.#savedStep = step
    return training
  }

  /** Whether nothing is left to do; otherwise a stop was asked for. */
  get complete(): boolean {
    return this.finished && !this.#evaluationDue
  }

  /** Whether every step is done. */
  get finished(): boolean {
    const { rows, config } = this.#options
    return rows.cursor.epoch >= config.epochs || this.step >= (config.maxSteps ?? Number.POSITIVE_INFINITY)
  }

  /** Rate and AdamW's options of the step that is being made. */
  get rates(): StepRates {
    return this.#rates
  }

  /** Acts are refused from here on. */
  async close(): Promise<void> {
    await this.#control?.close()
  }

  /** What people asked for between two steps, and what they have set for the next one. */
  async #between(): Promise<'go on' | 'stop'> {
    const { config, signal } = this.#options
    const save = async (): Promise<void> => {
      if (this.step !== this.#savedStep) await this.#save()
    }
    if ((await this.#control?.between({ save, signal })) === 'stop') return 'stop'
    this.#begun = this.step + 1
    this.#acted = actedAt(config, (await this.#control?.settled()) ?? [], this.#begun)
    this.#rates = stepRates(this.#acted.optimizer, this.totalSteps)(this.step)
    return 'go on'
  }

  /** The batches that are left, until a stop is asked for. Each is journalled while it is trained on. */
  async *batches(): AsyncGenerator<readonly E[], void> {
    const { rows, config, run, digest, signal } = this.#options
    while (!this.finished && !signal.aborted && (await this.#between()) === 'go on') {
      const waiting = performance.now()
      const cursor: DataCursor = rows.cursor
      const batch = await rows.take(config.batchSize)
      // If all rows at the end of the last epoch were dropped, these rows belong to an epoch beyond the last.
      const { epoch, position } = rows.cursor
      if (epoch > config.epochs || (epoch === config.epochs && position > 0)) return
      this.#epochOver = epoch > cursor.epoch
      this.#seconds = { data: performance.now() - waiting, begun: performance.now() }
      const step = this.step + 1
      const record: StepRecord = {
        kind: 'step',
        step,
        epoch: cursor.epoch,
        rows: batch.map(promptIdOf),
        digests: batch.map(digest),
      }
      this.#journalled = run.journal.append(journalBlock(step), record)
      // Awaited after the step; prevent an unhandled rejection if it fails before.
      this.#journalled.catch(() => {})
      yield batch
    }
  }

  /** How many rows of the batch have been computed. */
  training(done: number, total: number): void {
    this.#options.progress.stage('training', rowsText(done, total))
  }

  /** Counts and logs a step that the optimiser has made. */
  async stepped(
    made: MadeStep,
    values: Readonly<Record<string, number>>,
    size: { tokens: number; examples: number },
  ): Promise<void> {
    const { rows, validation, memory } = this.#options
    await Promise.all([this.#journalled, this.#logged])
    const { lr } = this.rates
    this.step++
    const { epoch, position } = rows.cursor
    const seconds = { data: this.#seconds.data / 1000, update: (performance.now() - this.#seconds.begun) / 1000 }
    this.#logged = this.#logStep(this.step, made, {
      ...values,
      lr,
      'data/epoch': epoch + position / rows.size,
      'data/tokens': size.tokens,
      'data/examples': size.examples,
      'data/truncated': this.#rowsSoFar().truncated,
      'data/dropped': this.#rowsSoFar().dropped,
      'speed/tokens_per_second': size.tokens / (seconds.data + seconds.update),
      'seconds/data': seconds.data,
      'seconds/update': seconds.update,
      ...memory(),
    })
    // Awaited before the next step is logged, an evaluation or a checkpoint; a failure must not be unhandled until then.
    this.#logged.catch(() => {})
    const { evalSteps } = this.#acted
    const due = this.finished || (evalSteps === undefined ? this.#epochOver : this.step % evalSteps === 0)
    this.#evaluationDue = due && validation === 'held out'
  }

  /**
   * Evaluates if it is due, and exports the model if it is the best so far. A stop leaves it to the resumed run: `measure` must
   * throw if the signal aborts.
   */
  async evaluateIfDue(measure: Measure): Promise<void> {
    const { run, bestBy, progress, signal } = this.#options
    if (!this.#evaluationDue || signal.aborted) return
    await this.#logged
    progress.stage('evaluating')
    const begun = performance.now()
    let values: Readonly<Record<string, number>>
    try {
      values = await measure((done, total) => progress.stage('evaluating', rowsText(done, total)))
    } catch (error) {
      if (signal.aborted && error === signal.reason) return
      throw error
    }
    this.#log({ ...values, 'seconds/evaluation': (performance.now() - begun) / 1000 }, { of: 'evaluation' })
    run.event('evaluation', { step: this.step, ...values })
    const [value, loss] = [values[bestBy.metric]!, values['loss/validation']!]
    if (this.#isBest(value, loss)) {
      progress.stage('saving', 'the best model')
      await this.#export('best')
      this.best = { step: this.step, metric: bestBy.metric, value }
      this.#bestLoss = loss
    }
    this.#evaluationDue = false
    this.#evaluatedStep = this.step
    // A checkpoint of this step, where there is one, does not know of it.
    this.#savedStep = undefined
  }

  #export(name: 'best' | 'final'): Promise<void> {
    const { run, model, config } = this.#options
    return exportModel(model, { run: run.directory, name, keep: config.keep ?? 'models' })
  }

  #isBest(value: number, loss: number): boolean {
    if (!this.best) return true
    if (value === this.best.value) return loss < this.#bestLoss
    return this.#options.bestBy.better === 'higher' ? value > this.best.value : value < this.best.value
  }

  /** Saves a checkpoint every `saveSteps`, at the end, and before a stop. */
  async saveIfDue(): Promise<void> {
    const { config, signal } = this.#options
    const due = this.step % config.saveSteps === 0 || this.finished || signal.aborted
    if (due && this.step !== this.#savedStep) await this.#save()
  }

  /**
   * Finishes a training: evaluates and saves the last model if needed, writes it as the final one if the training is complete,
   * and shows the results.
   */
  async finish(measure: Measure): Promise<void> {
    const { run, validation, progress, config } = this.#options
    await this.#logged
    if (this.finished && validation === 'held out' && this.step !== this.#evaluatedStep) this.#evaluationDue = true
    await this.evaluateIfDue(measure)
    if (this.step !== this.#savedStep) await this.#save()
    if (this.complete) {
      this.#diagnoses?.end(this.step)
      progress.stage('saving', 'the final model')
      await this.#export('final')
      if (validation === 'none') await this.#export('best')
      if (this.best?.step === 0 && this.step > 0) {
        run.event('best', { ...this.best })
        progress.note(startIsBest(this.best, config.keep))
      }
    }
    progress.end(this.#summary, this.#diagnoses?.found)
  }

  async #save(): Promise<void> {
    await this.#logged
    const { run, rows, model, progress } = this.#options
    progress.stage('saving', 'a checkpoint')
    const state = {
      step: this.step,
      cursor: { ...rows.cursor },
      best: this.best ? { ...this.best } : null,
      bestLoss: this.best ? this.#bestLoss : null,
      evaluationDue: this.#evaluationDue,
      evaluatedStep: this.#evaluatedStep ?? null,
      metrics: this.metrics,
      rows: this.#rowsSoFar(),
    }
    await run.checkpoint(this.step, state, directory => model.saveState(join(directory, 'model')))
    this.#savedStep = this.step
  }

  #rowsSoFar(): { truncated: number; dropped: number } {
    const { truncated, dropped } = this.#options.rows.counts
    const left = Object.values(dropped).reduce((sum, count) => sum + count, 0)
    return { truncated: this.#rowsBefore.truncated + truncated, dropped: this.#rowsBefore.dropped + left }
  }

  /** Logs a step when the device has finished it; meanwhile the rows of the next step are prepared. */
  async #logStep(step: number, made: MadeStep, values: Readonly<Record<string, number>>): Promise<void> {
    const all = { ...values, ...(await stepMetrics(made)) }
    this.#log(all, { step })
  }

  #log(
    values: Readonly<Record<string, number>>,
    { step = this.step, of = 'step' }: { step?: number; of?: 'step' | 'evaluation' } = {},
  ): void {
    const { run, progress, bestBy } = this.#options
    run.metrics(step, values, of)
    progress.step(step, values)
    this.#diagnoses?.step(step, values)
    Object.assign(this.metrics, values)
    for (const [name, value] of Object.entries(values)) {
      const { first = value, best = value } = this.#summary[name] ?? {}
      const better = bestBy.better === 'higher' ? Math.max(best, value) : Math.min(best, value)
      this.#summary[name] = { first, last: value, ...(name === bestBy.metric ? { best: better } : {}) }
    }
  }
}
