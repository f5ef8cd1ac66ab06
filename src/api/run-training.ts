/** How every training is started, by the functions of the package and by the commands. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { InputError, refuse, WhetstoneError } from '../errors/index.js'
import { checkNewDirectory } from '../files/index.js'
import type { Report } from '../progress/index.js'
import { locateRewardModels, type RewardNames } from '../reward/index.js'
import { Run } from '../run/index.js'
import { type Commits, locateNames } from '../source/index.js'
import {
  idleOptions,
  type JobOptions,
  type ResolvedTraining,
  rewardNamesOf,
  type Training,
  type TrainingConfig,
  withOrigin,
} from '../train/index.js'
import { type RunEvent, type TrainedModels, type TrainingResult, TrainingRun } from './training-run.js'

interface TrainingStart extends Omit<JobOptions<TrainingConfig>, 'onEvent'>, ResolvedTraining<TrainingConfig> {
  readonly training: Training
  /** Writes what a program gave into the run directory. Default: nothing. */
  readonly place?: (existing: 'replace' | 'compare') => Promise<void>
  /** `look`: a dry run, which may find a run in the output directory. Default: `use`. */
  readonly output?: 'use' | 'look'
}

/** Starts a training whose config is resolved. */
export function startTraining(start: TrainingStart): TrainingRun {
  return new TrainingRun(emit => runTraining(start, emit))
}

export function runTraining(start: TrainingStart, told: (event: RunEvent) => void): Promise<TrainingResult> {
  const { training, notes = [], place, output = 'use', onChecked, ...job } = start
  const { config, origins, resume } = job
  let warning: string | undefined
  const emit = (event: RunEvent): void => {
    // A warning is a line too, which says nothing new.
    if (event.kind === 'note' && warning !== undefined && event.message.startsWith(warning)) return
    if (event.kind === 'warning') warning = event.message
    told(event)
  }
  const report = eventReport(job.report, emit)
  // Below the lines of loading and training: there is always something to see.
  const line = report.live()
  line.doing('checking models, data and rewards')
  return attributed(origins, async () => {
    const intent = output === 'look' ? 'look' : resume ? 'resume' : 'start'
    const holdsRun = await checkOutput(config.output, intent, report)
    await place?.(holdsRun ? 'compare' : 'replace')
    const recorded = resume && holdsRun ? (await Run.read(config.output)).config.inputs : undefined
    const located = await locateTraining(start, { ...job, report, recorded })
    const result = await training.run({
      ...job,
      ...located,
      purpose: output === 'look' ? 'check' : 'train',
      report: whenTraining(report, () => line.doing('')),
      onEvent: emit,
      onChecked: async checked => {
        emit({ kind: 'checked', models: checked.models, data: checked.data })
        for (const note of [...notes, ...idleOptions({ config, origins }, training.idle)]) report.line(note)
        const next = (await onChecked?.(checked)) ?? 'train'
        if (next === 'train') line.doing('preparing the run')
        return next
      },
    })
    return { ...result, models: modelsOf(result.directory) }
  }).finally(() => line.end())
}

/** Models and data sets that are named by an id become directories. The config that people see keeps their names. */
async function locateTraining(
  { training, config, live = {} }: Pick<TrainingStart, 'training' | 'config' | 'live'>,
  around: Pick<TrainingStart, 'report' | 'signal' | 'allowChange'> & { readonly recorded: Commits | undefined },
): Promise<{ config: TrainingConfig; commits: Commits }> {
  const located = await locateNames(config, { options: training.options.paths ?? [], ...around })
  const rewards = rewardNamesOf((config as { readonly rewards?: RewardNames }).rewards, live)
  if (rewards === undefined) return located
  const { report, signal, recorded = {}, allowChange } = around
  const commits = allowChange.includes('rewards') ? undefined : recorded.rewards
  const found = await locateRewardModels(rewards, { report, signal, commits }).catch(error => refuse('rewards', error))
  return Object.keys(found).length === 0 ? located : { ...located, commits: { ...located.commits, rewards: found } }
}

/** An error about an option says which file, or which part of the command line, gave it. */
export async function attributed<T>(origins: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WhetstoneError)) throw error
    const message = withOrigin(error.message, origins)
    if (message === error.message) throw error
    throw new InputError(message, { cause: error, ...(error.remedy === undefined ? {} : { remedy: error.remedy }) })
  }
}

/**
 * Checks the output directory first: it must be usable, and must not have a run if a new one starts. If the process died before
 * it wrote a run, a resume starts a new one. Gives whether there is a run.
 */
async function checkOutput(output: string, intent: 'start' | 'resume' | 'look', report: Report): Promise<boolean> {
  await checkNewDirectory(output).catch(error => refuse('output', error))
  const holdsRun = await Run.isIn(output).catch(error => refuse('output', error))
  if (intent === 'resume' && !holdsRun) report.line(`${output} has no run yet: starting a new run.`)
  if (intent === 'start' && holdsRun)
    throw new InputError(`output: ${output} already has a run`, {
      remedy: 'Resume it with --resume, or choose another directory for the new run: --output DIR.',
    })
  return holdsRun
}

/** Tells when a line that counts steps begins: from then on nothing is being prepared, also when that line has ended. */
function whenTraining(report: Report, begun: () => void): Report {
  return {
    ...report,
    live: () => {
      const line = report.live()
      return {
        ...line,
        show: status => {
          if (status.share !== undefined) begun()
          line.show(status)
        },
      }
    },
  }
}

/** A report whose lines are events too. */
function eventReport(report: Report, emit: (event: RunEvent) => void): Report {
  return {
    line: text => {
      report.line(text)
      emit({ kind: 'note', message: text })
    },
    warn: text => {
      report.warn(text)
      emit({ kind: 'note', message: text })
    },
    transfer: (label, unit) => {
      emit({ kind: 'stage', text: label })
      return report.transfer(label, unit)
    },
    live: () => {
      const line = report.live()
      let doing = ''
      return {
        show: status => {
          line.show(status)
          doing = ''
        },
        doing: (text, far) => {
          line.doing(text, far)
          // How far it is comes many times a second; a program gets the stage once.
          if (text !== doing && text !== '') emit({ kind: 'stage', text })
          doing = text
        },
        end: () => line.end(),
      }
    },
  }
}

/** Where adapters alone are kept, those. */
function modelsOf(directory: string): TrainedModels {
  const found = (['final', 'best', 'value', 'ema'] as const).flatMap(name => {
    const paths = [join(directory, `${name}_model`), join(directory, `${name}_adapter`)]
    const path = paths.find(one => existsSync(one))
    return path === undefined ? [] : [[name, path]]
  })
  return Object.fromEntries(found) as TrainedModels
}
