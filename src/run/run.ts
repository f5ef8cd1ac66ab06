import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { didYouMean } from '../errors/index.js'
import {
  type Lock,
  leftoverOf,
  makeDirectory,
  recoverDirectory,
  removeDeadClaims,
  syncDirectory,
} from '../files/index.js'
import { attributed } from './append-file.js'
import {
  type Checkpoint,
  latestCheckpoint,
  type PassedOver,
  type Refusal,
  readCheckpoint,
  rotateCheckpoints,
  writeCheckpoint,
} from './checkpoints.js'
import { RunError } from './errors.js'
import type { ExactJson, Json } from './exact-json.js'
import {
  type Change,
  type ChangeOptions,
  continuedConfig,
  newConfig,
  type RunIdentity,
  type RunInputs,
  readConfig,
  withChanges,
  writeConfig,
} from './identity.js'
import { Journal } from './journal.js'
import { readJsonLines } from './json-lines.js'
import { takeLock } from './lock.js'
import type { Logger } from './loggers/logger.js'
import { type LoggerOptions, RunLoggers } from './loggers/run-loggers.js'
import { RunLogs, type SkippedRecord } from './logs.js'
import { isMetricName, metricNames } from './metric-names.js'
import { logFiles, runPaths } from './paths.js'
import { RunReader } from './run-reader.js'
import type { RunView } from './run-view.js'

const defaultKeep = 2

/** What a run logs, for a program that watches it. */
export type LogEntry =
  | { readonly log: 'metrics'; readonly step: number; readonly values: Readonly<Record<string, number>> }
  | { readonly log: 'events'; readonly event: string; readonly fields: Readonly<Record<string, Json | undefined>> }
  | { readonly log: 'samples'; readonly record: Readonly<Record<string, Json | undefined>> }

export interface RunOptions {
  /** Told what is logged, as it is logged. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined
  /** How many checkpoints stay; older ones go when a new one is in place. Default 2. */
  readonly keepCheckpoints?: number
  /** Told what is logged, beside the run. Default: TensorBoard's files. */
  readonly loggers?: readonly Logger[]
  /** Receives messages for the user, such as a skipped checkpoint or a logger that fails. The events have them too. */
  readonly onWarning?: ((message: string) => void) | undefined
}

export interface ResumeOptions extends RunOptions, Partial<ChangeOptions> {
  /**
   * From which iteration on the journal cannot be used after a change that is not harmless, by the state of the newest
   * checkpoint: the changed run will not sample the same. Default: all of it stays.
   */
  readonly outdatedFrom?: (state: ExactJson | undefined, changes: readonly Change[]) => number
  /** The iteration in whose journal changes are written down, by the state of the newest checkpoint. Default: the first. */
  readonly journalOf?: (state: ExactJson | undefined) => number
  /** Whether the journal has everything that resuming from a checkpoint of this state needs. Default: always. */
  readonly refuse?: (state: ExactJson, journal: Journal) => Promise<Refusal | undefined>
}

/** How a run ended. */
export type Outcome = 'finished' | 'stopped' | 'failed'

/**
 * A run directory that survives `kill -9` at any moment. One process owns it at a time. Logging only costs memory; a journal
 * record or checkpoint is on the disk when its promise resolves.
 *
 * @example
 * const identity = { command: 'sft', config: { seed: 1 }, origins: {}, fingerprints: {}, versions: {} } as const
 * const run = await Run.create('runs/one', identity)
 * run.metrics(1, { 'loss/train': 2.5 })
 * await run.checkpoint(1, { cursor: 32 }, async directory => {})
 * await run.close('finished')
 */
export class Run {
  readonly directory: string
  readonly journal: Journal
  /** What the run is made from, as it was opened. */
  readonly inputs: RunInputs
  /** Whether there was a run to go on with. */
  readonly resumed: boolean
  /** Whether it begins with nothing saved: what a run logs once, at its start, is still to be logged. */
  readonly fromStart: boolean
  readonly #lock: Lock
  readonly #logs: RunLogs
  readonly #loggers: RunLoggers
  readonly #keepCheckpoints: number
  readonly #onLog: RunOptions['onLog']
  /** Of the newest checkpoint that the run can go on from. */
  #saved: number | undefined
  /** Steps of checkpoints that were passed over. */
  readonly #unusable: Set<number>
  #closing: Promise<void> | undefined

  private constructor(opened: Opened) {
    this.directory = opened.directory
    this.journal = new Journal(runPaths(opened.directory).journal)
    this.inputs = opened.inputs
    this.resumed = opened.resumed
    this.fromStart = opened.saved === undefined
    this.#lock = opened.lock
    this.#logs = opened.logs
    this.#loggers = opened.loggers
    this.#keepCheckpoints = opened.options.keepCheckpoints ?? defaultKeep
    this.#onLog = opened.options.onLog
    this.#saved = opened.saved
    this.#unusable = opened.unusable
  }

  /** Starts a run in a new directory, or one that holds no run. */
  static async create(directory: string, identity: RunIdentity, options: RunOptions = {}): Promise<Run> {
    return owning(directory, async lock => {
      if (await Run.isIn(directory))
        throw new RunError(`${directory} already has a run`, {
          remedy: 'Resume it with --resume, or choose another directory for the new run.',
        })
      return Run.#begin(directory, identity, options, lock)
    })
  }

  /**
   * Resumes a run. Logs after its newest checkpoint are removed, because they will be logged again. If the process died before
   * there was a run, this starts one: `resumed` tells which.
   */
  static async resume(directory: string, identity: RunIdentity, options: ResumeOptions = {}): Promise<Run> {
    return owning(directory, async lock => {
      const paths = runPaths(directory)
      const old = await readConfig(paths.config)
      if (!old) return Run.#begin(directory, identity, options, lock)
      const journal = new Journal(paths.journal)
      await journal.checkVersion()
      const { harmless = [], allowChange = [], outdatedFrom, journalOf, refuse, onWarning } = options
      const continued = continuedConfig(old, identity, { directory, harmless, allowChange })
      const { config, changes, matter } = continued
      await makeFolders(directory)
      const { latest, passedOver } = await latestCheckpoint(paths.checkpoints, async state => refuse?.(state, journal))
      if (!latest && passedOver.length > 0) throw noneLeft(paths.checkpoints, passedOver)
      // Before the change is written down: one that is killed in between still has it to make.
      const outdated = passedOver.flatMap(({ journalFrom }) => (journalFrom === undefined ? [] : [journalFrom]))
      if (outdatedFrom && matter.length > 0) outdated.push(outdatedFrom(latest?.state, matter))
      if (outdated.length > 0) await journal.discardFrom(Math.min(...outdated))
      const since = journalOf?.(latest?.state) ?? 0
      if (matter.length > 0) {
        const record = { kind: 'changes', time: new Date().toISOString(), changes: matter.map(written) }
        await journal.append(since, record)
      }
      await journal.close()
      if (changes.length > 0 || old.inputs === undefined)
        await writeConfig(paths.config, withChanges(config, changes, since))
      const step = latest?.step ?? 0
      const unusable = new Set(passedOver.map(one => one.step))
      // A process that died between putting a checkpoint in place and removing older ones left that to do.
      const count = options.keepCheckpoints ?? defaultKeep
      await rotateCheckpoints(paths.checkpoints, { newest: step, count, unusable })
      const logs = await RunLogs.open(paths.logs, { rewind: { offsets: latest?.logs ?? {} } })
      if (!latest && (await hasSaved(paths.logs))) {
        const message = `${paths.checkpoints} has no checkpoint: the run starts again from its first step.`
        logs.event('warning', { message })
        onWarning?.(message)
      }
      for (const { directory: at, reason } of passedOver) {
        logs.event('warning', { message: 'checkpoint passed over', directory: at, reason })
        onWarning?.(`${at} is skipped: ${reason}. The run resumes from step ${step}.`)
      }
      // Before the run logs anything: what was cut off the logs is known to them now.
      const loggers = await openLoggers(directory, { config, logs, options })
      logs.event('resumed', {
        step,
        versions: identity.versions,
        changes: changes.map(written),
      })
      const { inputs = {} } = identity
      return new Run({ directory, inputs, resumed: true, saved: latest?.step, unusable, lock, logs, loggers, options })
    })
  }

  static async #begin(directory: string, identity: RunIdentity, options: RunOptions, lock: Lock): Promise<Run> {
    const paths = runPaths(directory)
    for (const folder of [paths.checkpoints, paths.journal]) {
      const [first] = await readdir(folder).catch(() => [])
      if (first !== undefined)
        throw new RunError(`${folder} contains ${first}, but ${paths.config} is missing`, {
          remedy: 'Restore that file to resume the run, or choose another directory for the new run.',
        })
    }
    const config = newConfig(identity)
    await writeConfig(paths.config, config)
    await makeFolders(directory)
    const logs = await RunLogs.open(paths.logs)
    const loggers = await openLoggers(directory, { config, logs, options })
    logs.event('started', { command: identity.command, versions: identity.versions })
    const { inputs = {} } = identity
    const unusable = new Set<number>()
    const run = new Run({ directory, inputs, resumed: false, saved: undefined, unusable, lock, logs, loggers, options })
    run.artifact('config.json', 'file')
    return run
  }

  /** Whether there is a run in a directory. A `config.json` of something else, such as a model, is a {@link RunError}. */
  static async isIn(directory: string): Promise<boolean> {
    return (await readConfig(runPaths(directory).config)) !== undefined
  }

  /** A run as others see it: no lock, nothing written. */
  static read(directory: string): Promise<RunView> {
    return new RunReader(directory).read()
  }

  /** Logs numbers of a step, or of an iteration where that is what a trainer counts. Names are those of {@link metricNames}. */
  metrics(step: number, values: Readonly<Record<string, number>>, of: 'step' | 'evaluation' = 'step'): void {
    if (!Number.isSafeInteger(step) || step < 0) throw new RunError(`expected a step of at least 0, got ${step}`)
    for (const name of Object.keys(values))
      if (!isMetricName(name))
        throw new RunError(
          `there is no metric "${name}"${didYouMean(
            name,
            metricNames.map(metric => metric.name),
          )}`,
          {
            remedy: 'Every metric is described in src/run/metric-names.ts.',
          },
        )
    this.#logs.metrics(step, values)
    // An evaluation is an event too, which says more.
    if (of === 'step') this.#onLog?.({ log: 'metrics', step, values })
  }

  event(kind: string, fields: Readonly<Record<string, Json | undefined>> = {}): void {
    this.#logs.event(kind, fields)
    this.#onLog?.({ log: 'events', event: kind, fields })
  }

  /** A row or a sample that was left out. */
  skipped(record: SkippedRecord): void {
    this.#logs.skipped(record)
  }

  /** A sample's text, to be read by people. */
  sample(record: Readonly<Record<string, Json | undefined>>): void {
    this.#logs.sample(record)
    this.#onLog?.({ log: 'samples', record })
  }

  /** Names a file or a directory of the run that loggers should know of. */
  artifact(name: string, what: 'file' | 'model'): void {
    this.event('artifact', { name, what })
  }

  /**
   * Saves where the run is: `fill` writes models into the directory it is given, `state` is everything else. The checkpoint is
   * there whole or not at all; older ones are removed only after it is. `keep: 'always'` exempts it from removal permanently.
   */
  async checkpoint(
    step: number,
    state: ExactJson,
    fill: (directory: string) => Promise<void>,
    { keep = 'rotate' }: { keep?: 'rotate' | 'always' } = {},
  ): Promise<void> {
    const { checkpoints } = runPaths(this.directory)
    // On the disk first: a checkpoint must never know of more log than there is.
    await this.#logs.flush()
    await writeCheckpoint(checkpoints, { step, state, logs: this.#logs.offsets, keep, fill })
    this.#saved = step
    this.#unusable.delete(step)
    await rotateCheckpoints(checkpoints, { newest: step, count: this.#keepCheckpoints, unusable: this.#unusable })
    this.event('checkpoint', { step })
  }

  /** The checkpoint that the run went on from, or the last one that it saved. */
  async latest(): Promise<Checkpoint | undefined> {
    if (this.#saved === undefined) return undefined
    // Its files were checked when the run was opened, or have just been written.
    const found = await readCheckpoint(runPaths(this.directory).checkpoints, this.#saved, 'sizes')
    if (found.kind === 'incomplete') throw new RunError(`${found.directory}: ${found.reason}`)
    const { step, state, directory } = found.checkpoint
    return { step, state, directory }
  }

  /** Everything logged so far is on the disk. Rejects with a FileWriteError where it is not; what was logged is kept for the next time. */
  async flush(): Promise<void> {
    await this.#logs.flush()
  }

  /** Records the end of the run and releases the directory. A second call waits for the first. */
  close(outcome: Outcome, error?: unknown): Promise<void> {
    this.#closing ??= this.#close(outcome, error)
    return this.#closing
  }

  async #close(outcome: Outcome, error: unknown): Promise<void> {
    // What is in the files is known afterwards; a failure is reported below.
    await this.#logs.flush().catch(() => {})
    for (const name of ['samples', 'skipped'] as const)
      if (this.#logs.offsets[logFiles[name]]! > 0) this.artifact(`logs/${logFiles[name]}`, 'file')
    const told = error === undefined ? undefined : error instanceof Error ? error.message : String(error)
    this.event(outcome, told === undefined ? {} : { error: told })
    try {
      await this.journal.close()
      await this.#logs.flush()
      await this.#loggers.finish({ outcome, error: told, time: Date.now() })
      await this.#logs.close()
    } finally {
      await this.#lock.release()
    }
  }
}

interface Opened {
  directory: string
  inputs: RunInputs
  resumed: boolean
  saved: number | undefined
  unusable: Set<number>
  lock: Lock
  logs: RunLogs
  loggers: RunLoggers
  options: RunOptions
}

function openLoggers(
  directory: string,
  { config, logs, options }: { config: LoggerOptions['config']; logs: RunLogs; options: RunOptions },
): Promise<RunLoggers> {
  return RunLoggers.open({
    directory,
    config,
    loggers: options.loggers,
    sizes: () => logs.sizes,
    onWarning: message => {
      logs.event('warning', { message })
      options.onLog?.({ log: 'events', event: 'warning', fields: { message } })
      options.onWarning?.(message)
    },
  })
}

/** Opens a run with its lock held; the lock is let go where that fails. */
async function owning(directory: string, open: (lock: Lock) => Promise<Run>): Promise<Run> {
  await attributed(directory, () => makeDirectory(directory))
  const lock = await takeLock(runPaths(directory).lock)
  try {
    await removeLeftovers(directory)
    return await open(lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Finishes or removes what killed processes left: halves of files, models and checkpoints, and locks they never got. */
async function removeLeftovers(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true })
  const folders = entries.filter(entry => entry.isDirectory() && !leftoverOf(entry.name)).map(({ name }) => name)
  for (const folder of [directory, ...folders.map(name => join(directory, name))]) {
    const left = (await readdir(folder)).map(leftoverOf).filter(one => one !== undefined)
    for (const target of new Set(left.map(one => one.target))) await recoverDirectory(join(folder, target))
  }
  await removeDeadClaims(runPaths(directory).lock)
}

function written({ key, from, to }: Change): { key: string; from: Json | undefined; to: Json | undefined } {
  return { key, from, to }
}

/** Whether the run says that it saved a checkpoint since it last began from its first step. */
async function hasSaved(logs: string): Promise<boolean> {
  const { objects } = await readJsonLines(join(logs, logFiles.events))
  const since = objects.findLastIndex(({ kind, step }) => kind === 'started' || (kind === 'resumed' && step === 0))
  return objects.slice(since + 1).some(({ kind }) => kind === 'checkpoint')
}

function noneLeft(checkpoints: string, passedOver: readonly PassedOver[]): RunError {
  const reasons = passedOver.map(({ directory, reason }) => `\n  ${directory}: ${reason}`)
  return new RunError(`${checkpoints} has no checkpoint that can be resumed:${reasons.join('')}`, {
    remedy:
      `Restore a copy of one of them, start a new run, or remove ${checkpoints} and resume: ` +
      'then the run starts again from its first step.',
  })
}

async function makeFolders(directory: string): Promise<void> {
  const { logs, journal, checkpoints } = runPaths(directory)
  await attributed(directory, async () => {
    for (const folder of [logs, journal, checkpoints]) await makeDirectory(folder)
    await syncDirectory(directory)
  })
}
