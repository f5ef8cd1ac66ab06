/**
 * Recomputes every batch of a supervised training from the dataset and the tokenizer in the run, and compares it with the
 * journal. No model is needed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { InputError } from '../../errors/index.js'
import { processorFiles } from '../../files/index.js'
import type { Definition } from '../../maths/index.js'
import { MultimodalProcessor, type Role } from '../../model/index.js'
import { Run, type RunView } from '../../run/index.js'
import { Tokenizer, templateUse } from '../../text/index.js'
import { answerEndOf } from '../checks/plan.js'
import { restoredConfig } from '../config/definitions.js'
import type { RawConfig } from '../config/resolve.js'
import { TrainingError } from '../run/errors.js'
import { processorOptions } from '../run/media.js'
import { type StepRecord, stepRecordSchema } from '../run/step-record.js'
import { span, trainedSoFar } from '../run/trained-so-far.js'
import { type Training, type TrainingConfigs, trainings } from '../trainings.js'
import type { SupervisedConfig } from './config.js'
import { exampleDigest, promptIdOf, type SupervisedKind } from './example-digest.js'
import { openRows } from './job.js'

interface ReplayMismatch {
  readonly step: number
  /** The row as the journal has it. */
  readonly row: string
  /** Where the dataset has a row in its place, if it has one. */
  readonly where?: string
  readonly message: string
}

interface SupervisedReplay {
  readonly batches: number
  readonly rows: number
  readonly mismatches: readonly ReplayMismatch[]
  /** Steps that were trained and not compared, with why. Empty where all of them were compared. */
  readonly notCompared: readonly string[]
  /** Files of the dataset that are not what they were. */
  readonly changedFiles: readonly string[]
}

/** `definitions`: those that the run was given in code. */
export async function replaySupervised(
  directory: string,
  { signal, definitions = [] }: { signal?: AbortSignal; definitions?: readonly Definition[] } = {},
): Promise<SupervisedReplay> {
  const run = await Run.read(directory)
  const { kind, role, config } = await rowsOf(run, definitions)
  const { steps, notCompared } = await journalledSteps(run)
  const tokenizer = await Tokenizer.load(join(directory, 'tokenizer'))
  // The run's copy of the tokenizer has the template that was given.
  const given = { ...config, chatTemplate: templateUse(config.chatTemplate) }
  const dataset = await openRows(given, kind, { answerEnd: answerEndOf(role), ...(signal ? { signal } : {}) })
  dataset.readMediaWith(await processorOf(directory, config, tokenizer))
  try {
    const { fingerprints } = run.config
    const changedFiles = Object.keys({ ...fingerprints, ...dataset.fingerprints }).filter(
      path => fingerprints[path] !== dataset.fingerprints[path],
    )
    const rows = dataset.train(tokenizer)
    const mismatches: ReplayMismatch[] = []
    let [batches, compared] = [0, 0]
    for (const record of steps) {
      signal?.throwIfAborted()
      if (record === undefined) {
        await rows.take(config.batchSize)
        continue
      }
      batches++
      const batch = await rows.take(record.rows.length)
      compared += record.rows.length
      for (const [i, row] of record.rows.entries()) {
        const found = batch[i]
        const message =
          found === undefined
            ? 'the dataset has no row for it'
            : promptIdOf(found) !== row
              ? `the dataset has row ${promptIdOf(found)} in its place`
              : exampleDigest(kind, found) === record.digests[i]
                ? undefined
                : 'its tokens or labels differ from the ones of the training'
        if (message !== undefined)
          mismatches.push({ step: record.step, row, ...(found ? { where: found.where } : {}), message })
      }
    }
    return { batches, rows: compared, mismatches, notCompared, changedFiles }
  } finally {
    await dataset.close()
  }
}

/** Of the run's copy of the model's config; null for a model of text, and for runs of earlier versions, which have no images. */
async function processorOf(directory: string, { media }: SupervisedConfig, tokenizer: Tokenizer) {
  const at = join(directory, 'tokenizer')
  if (!processorFiles.some(name => existsSync(join(at, name)))) return null
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  return MultimodalProcessor.load(at, { encode, ...processorOptions(media) })
}

/**
 * The records in the order of steps, undefined where one is lost. A step that was made again after a crash has several; the last
 * one counts.
 */
async function journalledSteps(
  run: RunView,
): Promise<{ steps: readonly (StepRecord | undefined)[]; notCompared: readonly string[] }> {
  const { journal } = run
  const found = new Map<number, StepRecord>()
  for (const block of await journal.iterations())
    for (const { record, file, line } of await journal.read(block)) {
      if (record.kind !== 'step') continue
      const parsed = stepRecordSchema.safeParse(record)
      if (!parsed.success) throw new TrainingError(`${file}, line ${line}: not the record of a step`)
      found.set(parsed.data.step, parsed.data)
    }
  const { logged, saved } = await trainedSoFar(run)
  const count = Math.max(logged, saved, ...found.keys())
  const steps = Array.from({ length: count }, (_, i) => found.get(i + 1))
  const notCompared: string[] = []
  for (let first = 0; first < count; first++) {
    if (steps[first] !== undefined) continue
    const next = steps.findIndex((record, i) => i > first && record !== undefined)
    const last = next < 0 ? count : next
    notCompared.push(
      `${span('step', first + 1, last)}: not compared, the journal has no record of ${last === first + 1 ? 'it' : 'them'}`,
    )
    first = last
  }
  if (count === 0) notCompared.push('nothing was trained yet: there is nothing to compare')
  return { steps, notCompared }
}

/** What the run's rows are, and how they were read. */
async function rowsOf(
  { directory, config: { command, config, inputs } }: RunView,
  given: readonly Definition[],
): Promise<{ kind: SupervisedKind; role: Role; config: SupervisedConfig }> {
  if (command === 'rl' || !Object.hasOwn(trainings, command))
    throw new InputError(`${directory} is a run of ${command}, which trains on no rows of a dataset`)
  const training: Training = trainings[command]
  const restored = await restoredConfig(config as RawConfig, { inputs, given, needed: ['loss'] })
  const parsed = training.schema.safeParse(restored.config)
  if (!parsed.success)
    throw new TrainingError(`${directory}: this version cannot read its config: ${parsed.error.message}`)
  const read = parsed.data as TrainingConfigs[typeof command]
  const { models, data } = training.plan(read)
  return { kind: data[0]!.kind as SupervisedKind, role: models[0].role, config: read }
}
