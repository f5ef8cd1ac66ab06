/** A training on rows, for any loss: checks, run directory, model, loop, exports. */
import {
  type Dataset,
  type ExampleSet,
  type Examples,
  type OpenDatasetOptions,
  openDataset,
  type SkippedRow,
} from '../../data/index.js'
import type { Role, TokenModel } from '../../model/index.js'
import { createLoggers, type Logger, Run } from '../../run/index.js'
import type { Tokenizer } from '../../text/index.js'
import { type CheckedModels, checkExamples, checkModels } from '../checks/check-plan.js'
import { countTooLong, type TooLong } from '../checks/count-lengths.js'
import { requireMachine } from '../checks/machine.js'
import { answerEndOf, planRows } from '../checks/plan.js'
import { definitionInputs } from '../config/definitions.js'
import { checkedOnly, type JobOptions, type JobResult, watched, withCommits, withinRun } from '../run/job.js'
import { deviceOf, loadTrained, ofRole } from '../run/load-model.js'
import { openMedia, type TrainingMedia } from '../run/media.js'
import { memoryMetrics } from '../run/memory-metrics.js'
import { trainProgress } from '../run/progress.js'
import { runInputs } from '../run/run-inputs.js'
import { keepTokenizer, runVersions } from '../run/run-setup.js'
import { journalBlock } from '../run/step-record.js'
import { harmlessFor, type SupervisedConfig } from './config.js'
import { type BestBy, EpochTraining, plannedSteps } from './epoch-training.js'
import { exampleDigest, type SupervisedKind } from './example-digest.js'

/** The parts in which supervised trainings differ. */
interface SupervisedTrainer<C extends SupervisedConfig, K extends SupervisedKind, R extends Role> {
  readonly command: 'sft' | 'reward' | 'preference'
  /** What its rows are. */
  readonly kind: K
  readonly role: R
  /** A model that is asked beside the trained one. */
  readonly reference?: string | undefined
  readonly bestBy: BestBy
  /** Metrics of the progress line. */
  readonly shown: readonly string[]
  readonly loop: (parts: SupervisedParts<C, K, R>) => Promise<void>
}

/** What a trainer's loop is given. */
export interface SupervisedParts<C extends SupervisedConfig, K extends SupervisedKind, R extends Role> {
  readonly config: C
  readonly run: Run
  readonly model: TokenModel<R>
  readonly dataset: Dataset<K>
  readonly tokenizer: Tokenizer
  readonly training: EpochTraining<Examples[K]>
  readonly validation: ExampleSet<Examples[K]> | undefined
  readonly job: JobOptions<C>
}

interface PreparedTraining<C extends SupervisedConfig, K extends SupervisedKind> {
  /** With the length that the model allows, where none was given: a run can be replayed without the model. */
  readonly config: C
  readonly models: CheckedModels
  readonly tokenizer: Tokenizer
  readonly dataset: Dataset<K>
  readonly media: TrainingMedia
  readonly skipped: readonly SkippedRow[]
  readonly loggers: readonly Logger[]
}

/**
 * Everything that can be checked before weights are read and anything is written: the models' shapes, their tokenizer, every row
 * of the data. The caller closes the dataset.
 */
async function prepareSupervised<C extends SupervisedConfig, K extends SupervisedKind>(
  { config, report, signal, live }: Pick<JobOptions<C>, 'config' | 'report' | 'signal' | 'live'>,
  { kind, role, reference }: { kind: K; role: Role; reference?: string | undefined },
): Promise<PreparedTraining<C, K>> {
  const loggers = createLoggers(config.loggers)
  if (live?.model) ofRole(live.model, role, 'model')
  const models = await checkModels(planRows(config, { kind, role, reference }), { ...live })
  requireMachine(models)
  const { tokenizer } = models
  const { maxLength = models.models[0]!.config.decoder.context } = config
  const resolved = { ...config, maxLength }
  const media = await openMedia({ config, model: models.models[0]!.config, tokenizer, live: live ?? {} })
  const skipped: SkippedRow[] = []
  const checking = report.transfer('checking rows')
  try {
    const dataset = await openRows(resolved, kind, {
      answerEnd: answerEndOf(role),
      signal,
      onSkipped: row => skipped.push(row),
      onProgress: bytes => checking.at(bytes),
    })
    dataset.readMediaWith(media.processor)
    try {
      await checkExamples(dataset, tokenizer, 'data')
    } catch (error) {
      await dataset.close()
      throw error
    }
    return { config: resolved, models, tokenizer, dataset, media, skipped, loggers }
  } finally {
    checking.end()
  }
}

/** The dataset that a config names. */
export function openRows<K extends SupervisedKind>(
  config: SupervisedConfig,
  kind: K,
  context: Pick<OpenDatasetOptions, 'answerEnd' | 'signal' | 'onSkipped' | 'onProgress'>,
): Promise<Dataset<K>> {
  return openDataset(kind, config.data, {
    trainOn: 'assistant',
    ...config,
    baseDirectory: process.cwd(),
    ...context,
  })
}

export async function runSupervised<C extends SupervisedConfig, K extends SupervisedKind, R extends Role>(
  job: JobOptions<C>,
  trainer: SupervisedTrainer<C, K, R>,
): Promise<JobResult> {
  const prepared = await prepareSupervised(job, trainer)
  const { config, models, dataset } = prepared
  try {
    const { tokenizer } = models
    const limit = config.maxLength ?? models.models[0]!.config.decoder.context
    const count = { tokenizer, generation: undefined, limit, signal: job.signal }
    const countAll = async (): Promise<TooLong[]> => [await countTooLong(dataset, count)]
    if ((await job.onChecked?.({ models, data: [dataset.report], countTooLong: countAll })) === 'stop')
      return checkedOnly(config.output)
    const run = await openRun(job, trainer, prepared)
    return await withinRun(run, job, () => trainRun(job, trainer, prepared, run))
  } finally {
    await dataset.close()
  }
}

async function openRun<C extends SupervisedConfig, K extends SupervisedKind, R extends Role>(
  job: JobOptions<C>,
  { command, reference }: SupervisedTrainer<C, K, R>,
  { config, dataset, tokenizer, loggers }: PreparedTraining<C, K>,
): Promise<Run> {
  const { origins, resume, allowChange, report, signal, live } = job
  const { fingerprints } = dataset
  const plain = JSON.parse(JSON.stringify(config))
  const { model, adapter, chatTemplate } = config
  const definitions = await definitionInputs(config)
  const inputs = await runInputs({
    models: { model, adapter, reference, tokenizer: live?.tokenizer && tokenizer.dir },
    chatTemplate,
    definitions,
    report,
    signal,
  })
  const recorded = withCommits(inputs, job.commits)
  const identity = { command, config: plain, origins, fingerprints, inputs: recorded, versions: runVersions() }
  const { keepCheckpoints } = config
  const onWarning = (message: string): void => report.line(message)
  const shared = { ...watched(job), keepCheckpoints, loggers, onWarning }
  return resume
    ? Run.resume(config.output, identity, {
        ...shared,
        allowChange,
        harmless: harmlessFor(config.optimizer),
        journalOf: state => journalBlock(((state as { step: number } | undefined)?.step ?? 0) + 1),
      })
    : Run.create(config.output, identity, shared)
}

async function trainRun<C extends SupervisedConfig, K extends SupervisedKind, R extends Role>(
  job: JobOptions<C>,
  trainer: SupervisedTrainer<C, K, R>,
  { config, tokenizer, dataset, media, skipped }: PreparedTraining<C, K>,
  run: Run,
): Promise<JobResult> {
  const { report, signal, ranks } = job
  const { command, kind, role, bestBy, shown } = trainer
  const texts = await keepTokenizer(tokenizer, run.directory, job.live)
  await media.keepIn(run.directory, { signal })
  const given = job.live?.model as TokenModel<R> | undefined
  const model =
    given ??
    (await loadTrained(config.model, { ...config, texts, role, what: config.model }, { report, signal, ranks }))
  const rows = dataset.train(tokenizer)
  const progress = trainProgress(report, { label: command, totalSteps: plannedSteps(rows.size, config), shown })
  try {
    const validation = dataset.validation(tokenizer)
    const training = await EpochTraining.open<Examples[K]>({
      run,
      model,
      rows,
      config,
      validation: validation ? 'held out' : 'none',
      bestBy,
      digest: row => exampleDigest(kind, row),
      progress,
      memory: () => memoryMetrics(deviceOf(model)),
      signal,
    })
    if (run.fromStart) for (const row of skipped) run.skipped({ ...row })
    try {
      await trainer.loop({ config, run, model, dataset, tokenizer, training, validation, job })
    } finally {
      await training.close()
    }
    const { step, metrics, best, complete } = training
    const outcome = complete ? 'finished' : 'stopped'
    return { outcome, step, metrics, ...(best ? { best } : {}), directory: run.directory }
  } finally {
    progress.leave()
    if (!given) model.dispose()
  }
}
